import type { ChatRequest } from '../rules/calls/chat-request.ts'
import { fieldsOf, type RouteField } from '../rules/calls/route-fields.ts'
import { unhonouredIn } from './anthropic/anthropic-request.ts'
import { cannotHonour as cannotHonourAtBedrock } from './bedrock/bedrock-request.ts'
import type { ProviderKind } from './create-provider.ts'
import { cannotHonour as cannotHonourAtGoogle } from './gemini/gemini-request.ts'

/**
 * The abilities that a model can be asked for, as far as they are known without asking it: by the wire format and the name
 * that it has at its providers, and by what their operator has said of them. These are the checks that a call goes through.
 */
export const ABILITIES = ['tools', 'images', 'json_schema', 'reasoning'] as const
export type Ability = (typeof ABILITIES)[number]

/** A model at a provider, as a call would find it. */
export interface AbleRoute {
  kind: string
  upstreamModel: string
  /** Fields that the route or its provider does not support. */
  unsupportedFields: ReadonlySet<string>
}

const PIXEL = 'data:image/png;base64,iVBORw0KGgo='
const SCHEMA = {
  type: 'object',
  properties: { answer: { type: 'string' } },
  required: ['answer'],
  additionalProperties: false,
}

/** Each asks for one thing and for nothing else. */
const REQUESTS: Record<Ability, ChatRequest> = {
  tools: asking('Hello', { tools: [{ type: 'function', function: { name: 'look_up', parameters: SCHEMA } }] }),
  images: asking([
    { type: 'text', text: 'Hello' },
    { type: 'image_url', image_url: { url: PIXEL } },
  ]),
  json_schema: asking('Hello', {
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: SCHEMA, strict: true } },
  }),
  reasoning: asking('Hello', { reasoning_effort: 'low' }),
}

function asking(
  content: Extract<ChatRequest['messages'][number], { role: 'user' }>['content'],
  fields: Partial<ChatRequest> = {},
): ChatRequest {
  return { model: '', messages: [{ role: 'user', content }], stream: false, includeUsage: false, ...fields }
}

type Refusal = (request: ChatRequest, upstreamModel: string) => RouteField | undefined

const ofGoogle: Refusal = (request, upstreamModel) =>
  cannotHonourAtGoogle(request, upstreamModel, { readsAudio: false })

/** The first field that the wire format or the model has no place for. An operator's own settings for a provider come on top. */
const REFUSALS: Record<ProviderKind, Refusal> = {
  'openai-compatible': () => undefined,
  anthropic: unhonouredIn,
  gemini: ofGoogle,
  vertex: ofGoogle,
  bedrock: cannotHonourAtBedrock,
}

/** A call is sent to whichever route honours what it asks for, so one is enough. */
export function abilitiesOf(routes: readonly AbleRoute[]): Ability[] {
  return ABILITIES.filter((ability) => routes.some((route) => isHonoured(REQUESTS[ability], route)))
}

function isHonoured(request: ChatRequest, { kind, upstreamModel, unsupportedFields }: AbleRoute): boolean {
  if (fieldsOf(request).some((field) => unsupportedFields.has(field))) return false
  // One of a kind that a newer version has added: nothing is known of it.
  if (!Object.hasOwn(REFUSALS, kind)) return false
  return REFUSALS[kind as ProviderKind](request, upstreamModel) === undefined
}
