import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { JsonError, parseJson } from '../../platform/json.ts'
import { createDryProvider, type DryProvider, type DryRun } from '../../providers/dry-run.ts'
import { UpstreamError, type UpstreamCall } from '../../providers/provider.ts'
import { parseChatRequest } from '../../rules/calls/chat-request.ts'
import { embeddingFieldsOf, parseEmbeddingsRequest } from '../../rules/calls/embeddings-request.ts'
import { endUserIdOf } from '../../rules/calls/end-users.ts'
import { fieldsOf, unsupportedField, type EmbeddingField, type RouteField } from '../../rules/calls/route-fields.ts'
import { ParleyError } from '../../rules/errors.ts'
import { EMBEDDINGS_JSON_LIMITS, UPSTREAM_TIMERS } from '../../rules/limits.ts'
import { fieldsIn, isRecord } from '../../rules/record.ts'
import { kindOf } from '../../store/catalogue/catalogue.ts'
import { findModel, listDeployments } from '../../store/catalogue/models.ts'
import { CliError } from '../failures.ts'
import type { Output } from '../print.ts'
import type { Session } from '../session.ts'
import { apiKeyOf } from './probe.ts'
import { keyLabel, type Provider, type ProviderKey } from './provider-keys.ts'

/** The request that a provider would get for a caller's request. Nothing is sent. */

type Route = Awaited<ReturnType<typeof listDeployments>>[number]

interface Refusal {
  status: number
  code: string
  message: string
  param: string | null
  /** For the operator, where the caller is not told. */
  why?: string
}

/** One of the two. */
interface Shown {
  route: Route
  sent?: DryRun
  refusal?: Refusal
}

export async function showRequest(
  session: Session,
  provider: Provider,
  key: ProviderKey | undefined,
  path: string,
): Promise<Output> {
  const bytes = await readRequest(path)
  try {
    const body = bodyIn(bytes)
    const { name, kind, base_url: baseUrl, settings } = provider
    const dry = createDryProvider({ name, kind, baseUrl, settings })
    const { model: id } = fieldsIn(body)
    const model = typeof id === 'string' ? await findModel(session.db, id) : undefined
    const saying = model && kindOf(model) === 'embedding' ? embeddingsTo(dry, body) : chatTo(dry, body)
    if (!model) throw new ParleyError('model_not_found', { param: 'model' })
    const routes = await routesOf(session, model.id, name)
    const apiKey = key && apiKeyOf(provider, key, await session.openSecrets())
    const asked = { apiKey, timers: UPSTREAM_TIMERS, ...digestsFor(body) }
    const shown: Shown[] = []
    for (const route of routes) shown.push(await tryRoute(route, asked, saying))
    return outputOf(provider, key, model.id, shown)
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error
    const refusal = refusalOf(error)
    return {
      document: { provider: provider.name, routes: [], refusal },
      text: `No provider would be asked. A caller gets ${refusalText(refusal)}`,
      exitCode: 1,
    }
  }
}

async function readRequest(path: string): Promise<Buffer> {
  try {
    return path === '-' ? await buffer(process.stdin) : await readFile(path)
  } catch {
    throw new CliError(`The file ${path} cannot be read. Check --request.`)
  }
}

function bodyIn(bytes: Buffer): unknown {
  try {
    return parseJson(bytes, EMBEDDINGS_JSON_LIMITS)
  } catch (error) {
    if (error instanceof JsonError) throw new ParleyError('invalid_request', { message: error.message })
    throw error
  }
}

async function routesOf({ db }: Session, model: string, provider: string): Promise<Route[]> {
  const routes = (await listDeployments(db)).filter(
    (route) => route.enabled && route.model_id === model && route.provider === provider,
  )
  if (routes.length > 0) return routes
  throw new CliError(
    `No route of ${model} leads to ${provider}. Add one with: parley model route ${model} --provider ${provider} --upstream-model NAME`,
  )
}

/** Digests are another in each project, so only their places are shown. */
function digestsFor(body: unknown): Pick<UpstreamCall, 'endUser' | 'cache'> {
  return {
    endUser: endUserIdOf(undefined, body) === undefined ? undefined : '…',
    cache: fieldsIn(body).prompt_cache_key == null ? undefined : { key: '…', isReturning: false },
  }
}

type Asked = Omit<UpstreamCall, 'request'>

/** Puts a request to a route in the words of its endpoint. */
interface Saying {
  /** The field that it cannot honour. */
  refusedBy(asked: Asked): RouteField | EmbeddingField | undefined
  say(asked: Asked): Promise<DryRun>
}

function chatTo(dry: DryProvider, body: unknown): Saying {
  const request = parseChatRequest(body)
  return {
    refusedBy: ({ unsupportedFields, upstreamModel }) =>
      fieldsOf(request).find((used) => unsupportedFields?.has(used)) ?? dry.cannotHonour(request, upstreamModel),
    say: (asked) => dry.say({ ...asked, request }),
  }
}

function embeddingsTo(dry: DryProvider, body: unknown): Saying {
  const request = parseEmbeddingsRequest(body)
  const { sayEmbed } = dry
  if (!sayEmbed) throw new CliError('This kind of provider does not offer embeddings.')
  return {
    refusedBy: ({ unsupportedFields }) =>
      embeddingFieldsOf(request).find((used) => unsupportedFields?.has(used)) ?? dry.cannotEmbed?.(request),
    say: (asked) => sayEmbed({ ...asked, request }),
  }
}

async function tryRoute(route: Route, asked: Omit<Asked, 'upstreamModel'>, { refusedBy, say }: Saying): Promise<Shown> {
  const { upstream_model: upstreamModel, extra_body } = route
  const unsupportedFields = new Set(route.unsupported_fields)
  const extraBody = isRecord(extra_body) ? extra_body : undefined
  const ofRoute = { ...asked, upstreamModel, unsupportedFields, extraBody }
  const field = refusedBy(ofRoute)
  if (field) return { route, refusal: refusalOf(unsupportedField(field)) }
  try {
    return { route, sent: await say(ofRoute) }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    const refusal = refusalOf(new ParleyError('upstream_failed'))
    return { route, refusal: { ...refusal, why: error.kind === 'key_rejected' ? WRONG_KEY : NO_PLACE } }
  }
}

const WRONG_KEY = 'The API key does not have the form that this kind of provider uses. Set another one.'
const NO_PLACE = 'Its wire format has no place for something in the request.'

function refusalOf({ status, code, message, options: { param } }: ParleyError): Refusal {
  return { status, code, message, param: param ?? null }
}

function refusalText({ status, code, message, why }: Refusal): string {
  return [`${status} (${code}): ${message}`, ...(why === undefined ? [] : [why])].join(' ')
}

function outputOf(provider: Provider, key: ProviderKey | undefined, model: string, shown: readonly Shown[]): Output {
  const using = key === undefined ? 'without a key' : `with key ${keyLabel(key)}`
  return {
    document: {
      provider: provider.name,
      model,
      key: key?.name ?? null,
      routes: shown.map(({ route, sent, refusal }) => {
        return { id: route.id, upstream_model: route.upstream_model, request: sent ?? null, refusal: refusal ?? null }
      }),
      refusal: null,
    },
    text: shown
      .map(({ route, sent, refusal }) => {
        const head = `Route ${route.id}: ${route.upstream_model} at ${provider.name}`
        if (sent) return `${head}, ${using}. Nothing was sent.\n\n${requestText(sent)}`
        return `${head} would not be asked. If there is no other route, a caller gets ${refusal ? refusalText(refusal) : ''}`
      })
      .join('\n\n'),
    exitCode: shown.some(({ sent }) => sent) ? 0 : 1,
  }
}

function requestText({ method, url, headers, body }: DryRun): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`${method} ${url}`, ...lines, '', JSON.stringify(body, null, 2)].join('\n')
}
