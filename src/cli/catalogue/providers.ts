import { Argument, InvalidArgumentError, Option, type Command } from 'commander'
import { addProvider, changeProvider, setProviderEnabled } from '../../actions/catalogue/providers.ts'
import { PROVIDER_KINDS } from '../../providers/create-provider.ts'
import type { Preset } from '../../providers/presets.ts'
import { listProviders } from '../../store/catalogue/providers.ts'
import { addApiKeyOptions, readApiKey, requireApiKey, type ApiKeyOptions } from './api-key.ts'
import { CliError, codeOf, orUnknown, UNIQUE_VIOLATION } from '../failures.ts'
import { facts, table, type Output } from '../print.ts'
import {
  addProviderKeyCommands,
  keyDocument,
  keyLabel,
  providerOf,
  keyRefusalText,
  slugOf,
  type Provider,
  keyToSeal,
} from './provider-keys.ts'
import {
  addSettingsOptions,
  expectUsable,
  listPresets,
  presetFor,
  readSettings,
  readStoredSettings,
  type SettingsOptions,
} from './provider-settings.ts'
import { addProviderTestCommand } from './provider-test.ts'
import { addChange, addCommand, print, withStore, type Session } from '../session.ts'

export function addProviderCommands(program: Command): void {
  const provider = program.command('provider').description('the model providers that answer calls')
  addCommand(provider, 'presets', 'show the built-in provider presets', 'parley provider presets')
    // It needs neither a store nor a configuration.
    .action((_, command: Command) => print(listPresets(), command))
  addApiKeyOptions(
    addSettingsOptions(
      addChange(
        provider,
        'add',
        'add a provider; its API key is stored sealed',
        'parley provider add groq --preset groq --api-key-env GROQ_API_KEY',
      )
        .addArgument(new Argument('<name>', 'lower-case letters, digits and -').argParser(slugOf))
        .option('--preset <name>', 'start from this preset (default: the preset of that name, if there is one)')
        .option('--base-url <url>', 'the base URL, up to and including the version', baseUrlOf)
        .addOption(
          new Option('--kind <kind>', `the wire format it speaks (default: ${PROVIDER_KINDS[0]})`).choices(
            PROVIDER_KINDS,
          ),
        ),
    ),
    ' (default)',
  ).action(withStore(add))
  addCommand(provider, 'list', 'show all providers', 'parley provider list').action(withStore(list))
  addApiKeyOptions(
    addSettingsOptions(
      addChange(
        provider,
        'set',
        'change the address, the settings or the API key; gateways follow within seconds',
        'parley provider set openai --api-key-file /run/secrets/openai',
      )
        .argument('<name>')
        .option('--base-url <url>', 'the base URL, up to and including the version', baseUrlOf),
    ),
    '',
  ).action(withStore(set))
  addChange(provider, 'disable', 'stop using a provider', 'parley provider disable openai')
    .argument('<name>')
    .action(withStore((session, name: string) => setEnabled(session, name, false)))
  addChange(provider, 'enable', 'use a provider again', 'parley provider enable openai')
    .argument('<name>')
    .action(withStore((session, name: string) => setEnabled(session, name, true)))
  addProviderTestCommand(provider)
  addProviderKeyCommands(provider)
}

/** The endings that each wire format adds to the address by itself. */
const ADDED = /\/chat\/completions$|\/messages$|:(?:stream)?generateContent$|\/converse(?:-stream)?$/i

export function baseUrlOf(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '' || url.username !== '') {
    throw new InvalidArgumentError('Use an address like https://api.example.com/v1, without a key in it.')
  }
  const added = ADDED.exec(url.pathname)?.[0]
  if (added !== undefined) {
    throw new InvalidArgumentError(`Leave out ${added}: the address ends with the version, for example /v1.`)
  }
  return url.href.replace(/\/+$/, '')
}

type AddOptions = ApiKeyOptions & SettingsOptions & { preset?: string; baseUrl?: string; kind?: string }

async function add(session: Session, name: string, options: AddOptions): Promise<Output> {
  const { db, actor, change } = session
  const preset = presetFor(name, options)
  const baseUrl = options.baseUrl ?? preset?.baseUrl
  if (baseUrl === undefined) throw addressNeeded(preset)
  const kind = options.kind ?? preset?.kind ?? PROVIDER_KINDS[0]
  const settings = { ...preset?.settings, ...(await readSettings(options)) }
  expectUsable({ name, kind, baseUrl, settings })
  const said = await readApiKey(options)
  const apiKey = said === undefined && preset?.key !== 'none' ? await requireApiKey(options) : said
  const key = apiKey == null ? undefined : await keyToSeal(session, apiKey)
  try {
    await change((tx) => addProvider(tx, actor, { provider: { name, kind, baseUrl, settings }, key }))
  } catch (error) {
    if (codeOf(error) !== UNIQUE_VIOLATION) throw error
    throw new CliError(`There is already a provider ${name}. Change it with: parley provider set ${name}`)
  }
  const { document, text } = providerOutput(await providerOf(db, name))
  const hint = preset === undefined ? '' : `${preset.hint}\n\n`
  return { document, text: `${text}\n\n${hint}Next: parley provider test ${name} --upstream-model NAME` }
}

function addressNeeded(preset: Preset | undefined): CliError {
  if (preset === undefined) {
    return new CliError(
      'Give its address with --base-url, or choose a --preset. List presets with: parley provider presets',
    )
  }
  return new CliError(`Give its address with --base-url. ${preset.hint}`)
}

async function list({ db }: Session): Promise<Output> {
  const providers = await listProviders(db)
  return {
    document: providers.map(providerDocument),
    text: table(
      providers.map((provider) => ({
        name: provider.name,
        kind: provider.kind,
        'base url': provider.base_url,
        'api keys': keysOf(provider),
        enabled: provider.enabled,
      })),
      'There are no providers yet. Run "parley provider add --help" to see how to add one.',
    ),
  }
}

type SetOptions = ApiKeyOptions & SettingsOptions & { baseUrl?: string }

async function set(session: Session, name: string, options: SetOptions): Promise<Output> {
  const { db, actor, change } = session
  const provider = await providerOf(db, name)
  const settings = await readSettings(options)
  const apiKey = await readApiKey(options)
  const { baseUrl } = options
  if (apiKey === undefined && baseUrl === undefined && settings === undefined) {
    throw new CliError('Nothing to change. Run "parley provider set --help" to see the options.')
  }
  expectStillUsable(provider, { baseUrl, settings })
  const key = typeof apiKey === 'string' ? await keyToSeal(session, apiKey) : apiKey
  await change((tx) => changeProvider(tx, actor, { provider, baseUrl, settings, key }))
  return providerOutput(await providerOf(db, name))
}

/** A new address or key is no reason to refuse settings that a newer version has stored. */
function expectStillUsable(
  { name, kind, base_url, settings: stored }: Provider,
  { baseUrl = base_url, settings }: { baseUrl: string | undefined; settings: Record<string, unknown> | undefined },
): void {
  if (settings !== undefined) return expectUsable({ name, kind, baseUrl, settings })
  const { problem } = readStoredSettings({ name, kind, baseUrl, settings: stored })
  if (problem === undefined) return
  throw new CliError(`The settings of ${name} cannot be used: ${problem}. Set them with --settings.`)
}

async function setEnabled({ db, actor, change }: Session, name: string, isEnabled: boolean): Promise<Output> {
  await change((tx) => setProviderEnabled(tx, actor, { name, isEnabled })).catch(orUnknown('provider', name))
  return providerOutput(await providerOf(db, name))
}

function keysOf({ keys }: Provider): string[] {
  if (keys.length === 0) return ['none']
  return keys.map((key) => {
    const notes = [key.enabled ? undefined : 'disabled', keyRefusalText(key)].filter((note) => note !== undefined)
    return notes.length === 0 ? keyLabel(key) : `${keyLabel(key)} (${notes.join(', ')})`
  })
}

/** Field by field, so that a sealed key never gets out with the row. */
function providerDocument(provider: Provider) {
  const { id, name, kind, base_url, settings, enabled, created_at } = provider
  return { id, name, kind, base_url, settings, keys: provider.keys.map(keyDocument), enabled, created_at }
}

function providerOutput(provider: Provider): Output {
  const { id, name, kind, base_url, settings, enabled } = provider
  const said = JSON.stringify(settings)
  return {
    document: providerDocument(provider),
    text: facts({
      id,
      name,
      kind,
      'base url': base_url,
      settings: said === '{}' ? null : said,
      'api keys': keysOf(provider),
      enabled,
    }),
  }
}
