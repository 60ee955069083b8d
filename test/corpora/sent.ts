import assert from 'node:assert/strict'
import { createProvider } from '../../src/providers/create-provider.ts'
import { presetNamed } from '../../src/providers/presets.ts'
import { UpstreamError, type Provider } from '../../src/providers/provider.ts'
import type { Transport } from '../../src/providers/transport.ts'
import { parseChatRequest, type ChatRequest } from '../../src/rules/calls/chat-request.ts'
import { UPSTREAM_TIMERS } from '../../src/rules/limits.ts'
import type { Fields } from './requests.ts'
import type { Target } from './targets.ts'

/** The body that the gateway would send for a request through its adapter, or the reason for not sending one. */
export type Outcome = { body: Fields } | { refused: string }

/** Says that nothing of a request is left to be sent; `cannotHonour` names a field otherwise. */
export const EMPTY = 'empty'

const BASE_URL = 'https://bedrock-runtime.us-east-1.amazonaws.com'
const CALL = {
  apiKey: 'key',
  timers: UPSTREAM_TIMERS,
  endUser: 'digest-of-a-user',
  cache: { key: 'digest-of-a-conversation', isReturning: true },
}

export function createSender({ preset, model }: Target): (fields: Fields) => Promise<Outcome> {
  const bodies: string[] = []
  const record = (request: { body: string }): never => {
    bodies.push(request.body)
    throw new UpstreamError('reset')
  }
  const transport: Transport = { exchange: record, close: () => Promise.resolve() }
  const { kind, baseUrl = BASE_URL, settings } = presetNamed(preset)!
  const provider = createProvider({ kind, name: preset, baseUrl, settings }, transport)
  return async (fields) => {
    bodies.length = 0
    const request = parseChatRequest({ model: 'public', messages: [{ role: 'user', content: 'Hi' }], ...fields })
    const refused = provider.cannotHonour(request, model) ?? (await refusalOf(provider, request, model))
    if (refused !== undefined) return { refused }
    assert.equal(bodies.length, 1, 'one request is sent')
    return { body: JSON.parse(bodies[0]!) as Fields }
  }
}

async function refusalOf(provider: Provider, request: ChatRequest, upstreamModel: string): Promise<string | undefined> {
  try {
    for await (const _ of provider.stream({ ...CALL, request, upstreamModel }, new AbortController().signal)) continue
  } catch (error) {
    if (!(error instanceof UpstreamError) || !['reset', 'rejected'].includes(error.kind)) throw error
    return error.kind === 'rejected' ? EMPTY : undefined
  }
  return assert.fail('what is recorded is not answered')
}
