import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { ZodError } from 'zod'
import { createProvider, type ProviderOptions } from '../../providers/create-provider.ts'
import { PRESETS, presetNamed, type Preset } from '../../providers/presets.ts'
import { createTransport } from '../../providers/transport.ts'
import { CliError } from '../failures.ts'
import { table, type Output } from '../print.ts'

export interface SettingsOptions {
  settings?: string
  settingsFile?: string
}

export function addSettingsOptions(command: Command): Command {
  return command
    .option('--settings <json>', 'what this provider does differently, as a JSON object')
    .option('--settings-file <path>', 'read the settings from a file')
}

/** Undefined: nothing was said. */
export async function readSettings(options: SettingsOptions): Promise<Record<string, unknown> | undefined> {
  const { settings, settingsFile } = options
  if (settings !== undefined && settingsFile !== undefined) {
    throw new CliError('Give the settings in one way: --settings or --settings-file.')
  }
  const text = settingsFile === undefined ? settings : await readSettingsFile(settingsFile)
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // Said below: to whoever typed it, both mistakes are the same one.
  }
  throw new CliError(`The settings are not a JSON object. Write them like --settings '{"path":"/chat/completions"}'.`)
}

async function readSettingsFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch {
    throw new CliError(`The file ${path} cannot be read. Check --settings-file.`)
  }
}

/** Settings that the provider's kind does not take would make it unusable for every gateway: refused before they are stored. */
export async function expectUsable(provider: ProviderOptions): Promise<void> {
  const transport = createTransport()
  try {
    createProvider(provider, transport)
  } catch (error) {
    const why =
      error instanceof ZodError
        ? error.issues.map(({ path, message }) => [path.join('.'), message].filter((part) => part !== '').join(': '))
        : [error instanceof Error ? error.message : 'unknown']
    throw new CliError(`These are not settings of the kind ${provider.kind}: ${why.join('; ')}. Check --settings.`)
  } finally {
    await transport.close()
  }
}

/** What to begin with: a preset by name, or the one with the provider's own name unless another wire format is asked for. */
export function presetFor(name: string, options: { preset?: string; kind?: string }): Preset | undefined {
  if (options.preset === undefined) return options.kind === undefined ? presetNamed(name) : undefined
  const preset = presetNamed(options.preset)
  if (!preset) {
    throw new CliError(`There is no preset ${options.preset}. List what there is with: parley provider presets`)
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
