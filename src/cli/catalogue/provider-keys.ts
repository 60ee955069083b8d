import { Argument, InvalidArgumentError, type Command } from 'commander'
import {
  addProviderKey,
  removeProviderKey,
  setProviderKeyEnabled,
  type ApiKey,
} from '../../actions/catalogue/providers.ts'
import type { Db } from '../../store/database.ts'
import { findProvider } from '../../store/catalogue/providers.ts'
import { addApiKeyOptions, requireApiKey, type ApiKeyOptions } from './api-key.ts'
import { CliError, unknownId } from '../failures.ts'
import { ago, table, type Output } from '../print.ts'
import { addChange, addCommand, withStore, type Session } from '../session.ts'

export type Provider = NonNullable<Awaited<ReturnType<typeof findProvider>>>
export type ProviderKey = Provider['keys'][number]

export function addProviderKeyCommands(provider: Command): void {
  const key = provider.command('key').description('the API keys of a provider; a refused key is not used')
  addApiKeyOptions(
    addChange(
      key,
      'add',
      'add a key, or replace the one with that name; gateways follow within seconds',
      'parley provider key add openai second --api-key-env OPENAI_API_KEY_2',
    )
      .argument('<provider>')
      .addArgument(new Argument('<key>', 'lower-case letters, digits and -').argParser(slugOf)),
    ' (default)',
  ).action(withStore(add))
  addCommand(key, 'list', "show a provider's keys, and which of them were refused", 'parley provider key list openai')
    .argument('<provider>')
    .action(withStore(async ({ db }, name: string) => keysOutput(await providerOf(db, name))))
  addChange(key, 'remove', 'forget a key', 'parley provider key remove openai second')
    .argument('<provider>')
    .argument('<key>')
    .action(withStore(remove))
  addChange(key, 'disable', 'keep a key, but do not use it', 'parley provider key disable openai second')
    .argument('<provider>')
    .argument('<key>')
    .action(withStore((session, name: string, keyName: string) => setEnabled(session, name, keyName, false)))
  addChange(key, 'enable', 'use a key again', 'parley provider key enable openai second')
    .argument('<provider>')
    .argument('<key>')
    .action(withStore((session, name: string, keyName: string) => setEnabled(session, name, keyName, true)))
}

export function slugOf(text: string): string {
  if (/^[a-z0-9][a-z0-9-]{0,62}$/.test(text)) return text
  throw new InvalidArgumentError('It has 1 to 63 characters of a-z 0-9 - and does not begin with -.')
}

export async function providerOf(db: Db, name: string): Promise<Provider> {
  const provider = await findProvider(db, name)
  if (!provider) throw unknownId('provider', name)
  return provider
}

export async function keyToSeal({ config, openSecrets }: Session, apiKey: string): Promise<ApiKey> {
  return { apiKey, secrets: await openSecrets(), leaseMs: config.PARLEY_LEASE_MS }
}

async function add(session: Session, name: string, keyName: string, options: ApiKeyOptions): Promise<Output> {
  const { db, actor, change } = session
  const provider = await providerOf(db, name)
  const apiKey = await requireApiKey(options)
  if (apiKey === null) throw new CliError('A key is needed here. Leave out --no-api-key.')
  const key = await keyToSeal(session, apiKey)
  await change((tx) => addProviderKey(tx, actor, { provider, keyName, key }))
  return keysOutput(await providerOf(db, name))
}

async function remove({ db, actor, change }: Session, name: string, keyName: string): Promise<Output> {
  const provider = await providerOf(db, name)
  expectKey(provider, keyName)
  await change((tx) => removeProviderKey(tx, actor, { provider, keyName }))
  return keysOutput(await providerOf(db, name))
}

async function setEnabled(session: Session, name: string, keyName: string, isEnabled: boolean): Promise<Output> {
  const { db, actor, change } = session
  const provider = await providerOf(db, name)
  expectKey(provider, keyName)
  await change((tx) => setProviderKeyEnabled(tx, actor, { provider, keyName, isEnabled }))
  return keysOutput(await providerOf(db, name))
}

function expectKey({ name, keys }: Provider, keyName: string): void {
  if (!keys.some((key) => key.name === keyName)) throw unknownKey(name, keyName)
}

export function unknownKey(name: string, keyName: string): CliError {
  return new CliError(`The provider ${name} has no key ${keyName}. List them with: parley provider key list ${name}`)
}

/** `second …a1b2`: enough to tell keys apart, and no more of them is ever shown. */
export function keyLabel({ name, last4 }: Pick<ProviderKey, 'name' | 'last4'>): string {
  return last4 ? `${name} …${last4}` : name
}

/** `refused with 401, 5 minutes ago`. Undefined: it was not, since it is in use. */
export function keyRefusalText({ rejected_at, rejected_status }: ProviderKey): string | undefined {
  if (rejected_at === null) return undefined
  return `refused${rejected_status === null ? '' : ` with ${rejected_status}`}, ${ago(new Date(rejected_at))}`
}

export function keyStateOf(key: ProviderKey): string {
  return [key.enabled ? 'in use' : 'disabled', keyRefusalText(key)].filter((part) => part !== undefined).join(', ')
}

/** Field by field, so that a sealed key never gets out with the row. */
export function keyDocument(key: ProviderKey) {
  const { name, last4, enabled, rejected_at, rejected_status } = key
  return { name, last4, enabled, rejected_at: rejected_at && new Date(rejected_at), rejected_status }
}

function keysOutput(provider: Provider): Output {
  return {
    document: provider.keys.map(keyDocument),
    text: table(
      provider.keys.map((key) => ({ key: key.name, 'ends with': key.last4, state: keyStateOf(key) })),
      `It has no key. Add one with: parley provider key add ${provider.name} NAME`,
    ),
  }
}
