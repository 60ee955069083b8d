import { Argument, InvalidArgumentError, Option, type Command } from 'commander'
import type { Secrets } from '../platform/secrets.ts'
import { uuidv7 } from '../platform/uuid.ts'
import type { Db } from '../store/database.ts'
import { listDeployments } from '../store/models.ts'
import {
  deleteProviderKey,
  findProvider,
  insertProvider,
  listProviders,
  updateProvider,
  upsertProviderKey,
} from '../store/providers.ts'
import { addApiKeyOptions, readApiKey, type ApiKeyOptions } from './api-key.ts'
import { upstreamModelOf } from './arguments.ts'
import { CliError, codeOf, UNIQUE_VIOLATION, unknownId } from './failures.ts'
import { facts, table, type Output } from './print.ts'
import { probe } from './probe.ts'
import { addCommand, withStore, type Session } from './session.ts'

const KINDS = ['openai-compatible']

export function addProviderCommands(program: Command): void {
  const provider = program.command('provider').description('upstreams that answer')
  addApiKeyOptions(
    addCommand(
      provider,
      'add',
      'add a provider; its API key is stored sealed',
      'parley provider add openai --base-url https://api.openai.com/v1 --api-key-env OPENAI_API_KEY',
    )
      .addArgument(new Argument('<name>', 'lower-case letters, digits and -').argParser(providerNameOf))
      .requiredOption('--base-url <url>', 'up to and including the version', baseUrlOf)
      .addOption(new Option('--kind <kind>', 'the wire format it speaks').choices(KINDS).default(KINDS[0])),
    ' (default)',
  ).action(withStore(add))
  addCommand(provider, 'list', 'show all providers', 'parley provider list').action(withStore(list))
  addApiKeyOptions(
    addCommand(
      provider,
      'set',
      'change the address or the API key',
      'parley provider set openai --api-key-file /run/secrets/openai',
    )
      .argument('<name>')
      .option('--base-url <url>', 'up to and including the version', baseUrlOf),
    '',
  ).action(withStore(set))
  addCommand(provider, 'disable', 'stop using a provider', 'parley provider disable openai')
    .argument('<name>')
    .action(withStore((session, name: string) => change(session.db, name, { enabled: false })))
  addCommand(provider, 'enable', 'use a provider again', 'parley provider enable openai')
    .argument('<name>')
    .action(withStore((session, name: string) => change(session.db, name, { enabled: true })))
  addCommand(
    provider,
    'test',
    'make a real call of at most 8 tokens and time it',
    'parley provider test openai --upstream-model gpt-4o-mini',
  )
    .argument('<name>')
    .option('--upstream-model <name>', 'which model to ask (default: that of its first route)', upstreamModelOf)
    .action(withStore(testProvider))
}

function providerNameOf(text: string): string {
  if (/^[a-z0-9][a-z0-9-]{0,62}$/.test(text)) return text
  throw new InvalidArgumentError('It has 1 to 63 characters of a-z 0-9 - and does not begin with -.')
}

export function baseUrlOf(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '' || url.username !== '') {
    throw new InvalidArgumentError('Write an address like https://api.example.com/v1, without a key in it.')
  }
  if (url.pathname.endsWith('/chat/completions')) {
    throw new InvalidArgumentError('Leave out /chat/completions: the address ends with the version, for example /v1.')
  }
  return url.href.replace(/\/+$/, '')
}

type Provider = NonNullable<Awaited<ReturnType<typeof findProvider>>>

async function providerOf(db: Db, name: string): Promise<Provider> {
  const provider = await findProvider(db, name)
  if (!provider) throw unknownId('provider', name)
  return provider
}

async function add(
  { db, secrets }: Session,
  name: string,
  options: ApiKeyOptions & { baseUrl: string; kind: string },
): Promise<Output> {
  const id = uuidv7()
  const said = await readApiKey(options)
  const apiKey = said === undefined ? await readApiKey({ ...options, apiKeyStdin: true }) : said
  try {
    await insertProvider(db, { id, name, kind: options.kind, baseUrl: options.baseUrl })
    if (apiKey != null) await upsertProviderKey(db, newKey(id, apiKey, secrets))
  } catch (error) {
    if (codeOf(error) !== UNIQUE_VIOLATION) throw error
    throw new CliError(`There is already a provider ${name}. Change it with: parley provider set ${name}`)
  }
  const { document, text } = providerOutput(await providerOf(db, name))
  return { document, text: `${text}\n\nNext: parley provider test ${name} --upstream-model NAME` }
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
        'api key': keyStateOf(provider),
        enabled: provider.enabled,
      })),
      'There are no providers yet. Run "parley provider add --help" to see how to add one.',
    ),
  }
}

async function set(
  { db, secrets }: Session,
  name: string,
  options: ApiKeyOptions & { baseUrl?: string },
): Promise<Output> {
  const { id } = await providerOf(db, name)
  const apiKey = await readApiKey(options)
  if (apiKey === undefined && options.baseUrl === undefined) {
    throw new CliError('Nothing was said to change. Run "parley provider set --help" to see what can be.')
  }
  if (apiKey === null) await deleteProviderKey(db, id, 'default')
  if (typeof apiKey === 'string') await upsertProviderKey(db, newKey(id, apiKey, secrets))
  if (options.baseUrl !== undefined) return change(db, name, { base_url: options.baseUrl })
  return providerOutput(await providerOf(db, name))
}

function newKey(providerId: string, apiKey: string, secrets: Secrets) {
  const sealedKey = secrets.seal(apiKey, `provider/${providerId}`)
  return { id: uuidv7(), providerId, name: 'default', sealedKey, last4: apiKey.slice(-4) }
}

async function change(db: Db, name: string, values: Parameters<typeof updateProvider>[2]): Promise<Output> {
  if (!(await updateProvider(db, name, values))) throw unknownId('provider', name)
  return providerOutput(await providerOf(db, name))
}

function keyStateOf(provider: Provider): string {
  return provider.keys.length === 0 ? 'none' : 'sealed'
}

/** Field by field, so that a sealed key never gets out with the row. */
function providerDocument(provider: Provider) {
  const { id, name, kind, base_url, enabled, created_at } = provider
  return { id, name, kind, base_url, api_key: keyStateOf(provider), enabled, created_at }
}

function providerOutput(provider: Provider): Output {
  const { id, name, kind, base_url, enabled } = provider
  const text = facts({ id, name, kind, 'base url': base_url, 'api key': keyStateOf(provider), enabled })
  return { document: providerDocument(provider), text }
}

async function testProvider(
  { db, secrets }: Session,
  name: string,
  options: { upstreamModel?: string },
): Promise<Output> {
  const provider = await providerOf(db, name)
  const route = (await listDeployments(db)).find((candidate) => candidate.enabled && candidate.provider === name)
  const upstreamModel = options.upstreamModel ?? route?.upstream_model
  if (upstreamModel === undefined) {
    throw new CliError(`No route names a model of ${name} yet. Say which to ask with --upstream-model.`)
  }
  const { connectMs, firstTokenMs, totalMs } = await probe(provider, secrets, upstreamModel)
  const rounded = {
    connect_ms: connectMs === undefined ? null : Math.round(connectMs),
    first_token_ms: Math.round(firstTokenMs),
    total_ms: Math.round(totalMs),
  }
  return {
    document: { provider: name, upstream_model: upstreamModel, answers: true, ...rounded },
    text: `${name} answers.\n\n${facts({
      'upstream model': upstreamModel,
      connect: rounded.connect_ms === null ? null : `${rounded.connect_ms} ms`,
      'first token': `${rounded.first_token_ms} ms`,
      total: `${rounded.total_ms} ms`,
    })}`,
  }
}
