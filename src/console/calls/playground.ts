import type { FastifyInstance } from 'fastify'
import { hkdfSync } from 'node:crypto'
import type { Secrets } from '../../platform/secrets.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import { KEY_PAIR_RANDOM_BYTES, keyPairFrom, secretDigestOf, type KeyPair } from '../../rules/projects/keys.ts'
import { snippetFor, type SnippetRequest } from '../../rules/calls/snippets.ts'
import type { Db } from '../../store/database.ts'
import { lockPlaygroundKey, upsertPlaygroundKey } from '../../store/projects/playground-keys.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

/**
 * The playground is a caller like any other: it asks the gateway, with a key pair of the project, and is charged, refused
 * and logged like everybody else. The pair never leaves the servers.
 */

const KEY_NAME = 'Playground'
const KEY_LIFE_MS = 3_600_000
/** A pair with less time than this is made anew, so that no clock that is a little off meets its end. */
const KEY_LEFT_MS = 600_000
const ERROR_BYTES_MAX = 64 * 1024

export function playgroundRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'POST /api/projects/:project/playground', async ({ inTenant, project, body }) => {
    const pair = await inTenant((db) => pairFor(db, world, project.id, Date.now()))
    return relayed(world.installation.gatewayInternalUrl, pair, requestOf(body))
  })

  route(app, world, 'POST /api/projects/:project/playground/code', ({ body }) => {
    const items = (['curl', 'node', 'python'] as const).map((id) =>
      snippetFor(id, world.installation.gatewayUrl, requestOf(body)),
    )
    return { items }
  })
}

interface Asked extends Omit<SnippetRequest, 'temperature' | 'maxTokens'> {
  temperature: number | null
  maxTokens: number | null
}

function requestOf({ temperature, maxTokens, ...rest }: Asked): SnippetRequest {
  return { ...rest, temperature: temperature ?? undefined, maxTokens: maxTokens ?? undefined }
}

/**
 * The project's pair, made or renewed when needed. The keys are derived from the installation's secret and the row's id
 * and end, so every console finds the same without any of them storing more than a digest.
 */
export async function pairFor(
  tx: Db,
  { secrets, installation }: Pick<World, 'secrets' | 'installation'>,
  projectId: string,
  nowMs: number,
): Promise<KeyPair> {
  const row = await lockPlaygroundKey(tx, projectId)
  if (row?.expires_at && row.expires_at.getTime() > nowMs + KEY_LEFT_MS && row.secret_version === secrets.version) {
    const pair = derivedPair(secrets, installation.cell, row.id, row.expires_at)
    // Made under another secret of the same number, or for another cell.
    if (pair.publishable === row.publishable_key) return pair
  }
  const id = row?.id ?? uuidv7()
  const expiresAt = new Date(nowMs + KEY_LIFE_MS)
  const pair = derivedPair(secrets, installation.cell, id, expiresAt)
  await upsertPlaygroundKey(tx, {
    id,
    projectId,
    name: KEY_NAME,
    publishableKey: pair.publishable,
    secretDigest: secretDigestOf(pair.secret, secrets.keyFor('key-pair-pepper')),
    secretVersion: secrets.version,
    secretLast4: pair.secret.slice(-4),
    expiresAt,
  })
  return pair
}

function derivedPair(secrets: Secrets, cell: string, id: string, expiresAt: Date): KeyPair {
  const info = `${id}/${expiresAt.getTime()}`
  const bytes = hkdfSync('sha512', secrets.keyFor('playground'), '', info, KEY_PAIR_RANDOM_BYTES)
  return keyPairFrom(new Uint8Array(bytes), cell)
}

/**
 * The gateway's answer as events. A generator that waits for the gateway cannot be told to stop, so the iterator that the
 * server gets does it: when the browser is gone, the gateway learns it at once, also before the first piece.
 */
function relayed(gatewayUrl: string, pair: KeyPair, request: SnippetRequest): AsyncIterable<string> {
  const hangUp = new AbortController()
  const events = eventsOf(gatewayUrl, pair, request, hangUp.signal)
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => events.next(),
      return: () => {
        hangUp.abort()
        return Promise.resolve({ done: true, value: undefined })
      },
    }),
  }
}

async function* eventsOf(
  gatewayUrl: string,
  pair: KeyPair,
  request: SnippetRequest,
  signal: AbortSignal,
): AsyncGenerator<string> {
  // At once, so that the browser knows that somebody is there.
  yield ': asking\n'
  try {
    const response = await ask(gatewayUrl, pair, request, signal)
    if (!response.ok) yield eventWith({ error: await refusalOf(response) })
    else if (!request.stream) yield eventWith(await response.json())
    else for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) yield text
  } catch {
    // The empty line ends an event that was cut off midway.
    if (!signal.aborted) yield `\n\n${eventWith({ error: BROKEN })}`
  }
}

const BROKEN = {
  code: 'gateway_unreachable',
  message: 'The gateway could not be reached, or broke off midway. Try again in a moment.',
}

function ask(gatewayUrl: string, pair: KeyPair, request: SnippetRequest, signal: AbortSignal): Promise<Response> {
  const { model, messages, stream, temperature, maxTokens } = request
  const options = stream ? { stream, stream_options: { include_usage: true } } : {}
  return fetch(`${gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    redirect: 'error',
    headers: {
      'content-type': 'application/json',
      'x-publishable-key': pair.publishable,
      'x-secret-key': pair.secret,
      'x-error-format': 'openai',
    },
    body: JSON.stringify({ model, messages, temperature, max_completion_tokens: maxTokens, ...options }),
    signal,
  })
}

/** The gateway's own sentence. What is not from a gateway is not passed on. */
async function refusalOf(response: Response): Promise<object> {
  const text = (await response.text()).slice(0, ERROR_BYTES_MAX)
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown; code?: unknown } }
    if (typeof error?.message !== 'string') return BROKEN
    const requestId = response.headers.get('x-request-id')
    return { code: String(error.code), message: error.message, status: response.status, requestId }
  } catch {
    return BROKEN
  }
}

function eventWith(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`
}
