import type { FastifyInstance } from 'fastify'
import { playgroundPairOf } from '../../actions/projects/playground-keys.ts'
import type { KeyPair } from '../../rules/projects/keys.ts'
import { snippetFor, type SnippetRequest } from '../../rules/calls/snippets.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

/**
 * The playground is a caller like any other: it asks the gateway, with a key pair of the project, and is charged, refused
 * and logged like everybody else. The pair never leaves the servers.
 */

const ERROR_BYTES_MAX = 64 * 1024

export function playgroundRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'POST /api/projects/:project/playground', async ({ inTenant, project, body }) => {
    const keys = { projectId: project.id, secrets: world.secrets, cell: world.installation.cell, nowMs: Date.now() }
    const pair = await inTenant((db) => playgroundPairOf(db, keys))
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
 * The gateway's answer as events. A generator that waits for the gateway cannot be told to stop, so the iterator that the
 * server gets does it: when the browser is gone, the gateway learns it at once, also before the first chunk.
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
    if (!response.ok) yield eventWith({ error: await readGatewayError(response) })
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
async function readGatewayError(response: Response): Promise<object> {
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
