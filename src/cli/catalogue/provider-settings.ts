import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { ZodError } from 'zod'
import { createKnownProvider, createProvider, type ProviderOptions } from '../../providers/create-provider.ts'
import { PRESETS, presetNamed, type Preset } from '../../providers/presets.ts'
import type { Transport } from '../../providers/transport.ts'
import { CliError } from '../failures.ts'
import { table, type Output } from '../print.ts'

export interface SettingsOptions {
  settings?: string
  settingsFile?: string
}

export function addSettingsOptions(command: Command): Command {
  return command
    .option('--settings <json>', 'provider-specific settings, as a JSON object')
    .option('--settings-file <path>', 'read the settings from a file')
}

/** Undefined: nothing was said. */
export async function readSettings(options: SettingsOptions): Promise<Record<string, unknown> | undefined> {
  const { settings, settingsFile } = options
  if (settings !== undefined && settingsFile !== undefined) {
    throw new CliError('Use either --settings or --settings-file, not both.')
  }
  const text = settingsFile === undefined ? settings : await readSettingsFile(settingsFile)
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // Said below: to whoever typed it, both mistakes are the same one.
  }
  throw new CliError(`The settings are not a JSON object. Use a form like --settings '{"path":"/chat/completions"}'.`)
}

async function readSettingsFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch {
    throw new CliError(`The file ${path} cannot be read. Check --settings-file.`)
  }
}

/** Settings that the provider's kind does not take would make it unusable for every gateway: refused before they are stored. */
export function expectUsable(provider: ProviderOptions): void {
  const why = settingsProblemOf(() => createProvider(provider, NO_TRANSPORT))
  if (why !== undefined) {
    throw new CliError(`These settings are not valid for the kind ${provider.kind}: ${why}. Check --settings.`)
  }
}

/** Reads the stored settings as the gateways of this version do. */
export function readStoredSettings(provider: ProviderOptions): { ignored: string[]; problem: string | undefined } {
  let ignored: string[] = []
  const problem = settingsProblemOf(() => {
    ;({ ignored } = createKnownProvider(provider, NO_TRANSPORT))
  })
  return { ignored, problem }
}

/** Nothing is sent. */
const NO_TRANSPORT: Transport = {
  exchange: () => neverAsked(),
  close: () => Promise.resolve(),
}

function neverAsked(): never {
  throw new Error('This provider is only looked at.')
}

function settingsProblemOf(create: () => void): string | undefined {
  try {
    create()
    return undefined
  } catch (error) {
    if (!(error instanceof ZodError)) return error instanceof Error ? error.message.replace(/\.$/, '') : 'unknown'
    return error.issues
      .map(({ path, message }) => [path.join('.'), message].filter((part) => part !== '').join(': '))
      .join('; ')
  }
}

/**
 * Returns the preset to begin with: the one named, or the one with the provider's own name unless another wire format is asked
 * for.
 */
export function presetFor(name: string, options: { preset?: string; kind?: string }): Preset | undefined {
  if (options.preset === undefined) return options.kind === undefined ? presetNamed(name) : undefined
  const preset = presetNamed(options.preset)
  if (!preset) {
    throw new CliError(`There is no preset ${options.preset}. List them with: parley provider presets`)
  }
  if (options.kind !== undefined && options.kind !== preset.kind) {
    throw new CliError(`The preset ${preset.name} is of the kind ${preset.kind}. Leave out --kind, or --preset.`)
  }
  return preset
}

export function listPresets(): Output {
  return {
    document: PRESETS,
    text: `${table(
      PRESETS.map(({ name, kind, baseUrl, key, hint }) => ({ preset: name, kind, 'base url': baseUrl, key, hint })),
      '',
    )}\n\nNext: parley provider add NAME --preset PRESET --api-key-env VARIABLE`,
  }
}
