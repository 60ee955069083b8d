import { CALL_ENDPOINTS } from '../endpoints.ts'
import type { ErrorCode } from '../errors.ts'
import type { ANSWERS } from './answers.ts'
import { CODES } from './error-answers.ts'
import { CALL_HEADERS, type AnswerHeader, type ParameterName, type SECURITY_SCHEMES } from './headers.ts'
import type { REQUEST_SCHEMAS } from './requests.ts'

/** Every endpoint of the public API: what it is for, what it takes, and what it answers. */
export interface Operation {
  id: string
  summary: string
  description: string
  parameters: readonly ParameterName[]
  /** The parameter in its path. */
  pathParameter?: { name: string; description: string }
  request?: keyof typeof REQUEST_SCHEMAS
  isBodyOptional?: boolean
  answer: keyof typeof ANSWERS
  /** Written where a stream is asked for. */
  events?: string
  headers: readonly AnswerHeader[]
  codes: readonly ErrorCode[]
  /** Whether the secret of a browser session may ask it. */
  isForBrowsers: boolean
  /** The security scheme of an endpoint that is not for holders of a key pair. */
  security?: keyof typeof SECURITY_SCHEMES
}

const ID: readonly AnswerHeader[] = ['x-request-id']
const OF_CALLS = ['EndUserId', 'EndUserLabel', 'IdempotencyKey', 'ErrorFormat'] as const
const OF_CHATS = ['ConversationId', 'Monetization', ...OF_CALLS] as const

const CHAT_EVENTS =
  'Server-sent events. Each is a line `data: {chunk}` and a blank line: a first chunk with the role, chunks with content, one with an empty delta and the finish_reason, with stream_options.include_usage one with the usage, then `data: [DONE]`. Lines that begin with a colon keep the connection open. A failure after the first byte is one event `data: {"error": …}`, without `[DONE]`.'
const RESPONSE_EVENTS =
  'Server-sent events, each with its name: from `response.created` to `response.completed` or `response.incomplete`. There is no `[DONE]`. A failure after the first byte is an `error` event, then `response.failed`.'

export const OPERATIONS: Record<string, Operation> = {
  [`POST ${CALL_ENDPOINTS.chat.path}`]: {
    id: 'createChatCompletion',
    summary: 'Ask a model, in the format of chat completions',
    description:
      'Credit is held before a provider is asked, and charged before the answer ends. null means "not given", except for model, messages, stream, temperature, max_tokens and top_p. Fields that are not listed are ignored.',
    parameters: OF_CHATS,
    request: 'ChatCompletionRequest',
    answer: 'ChatCompletion',
    events: CHAT_EVENTS,
    headers: CALL_HEADERS,
    codes: CODES.chat,
    isForBrowsers: true,
  },
  [`POST ${CALL_ENDPOINTS.responses.path}`]: {
    id: 'createResponse',
    summary: 'Ask a model, in the format of responses',
    description:
      'The part of the Responses API that needs no stored state. null means "not given". Fields that are not listed are ignored, except those of chat completions, which are refused.',
    parameters: OF_CHATS,
    request: 'ResponseRequest',
    answer: 'Response',
    events: RESPONSE_EVENTS,
    headers: CALL_HEADERS,
    codes: CODES.chat,
    isForBrowsers: true,
  },
  [`POST ${CALL_ENDPOINTS.embeddings.path}`]: {
    id: 'createEmbeddings',
    summary: 'Turn texts into vectors',
    description: 'One vector for each input, in the same order. Only the prompt costs anything.',
    parameters: OF_CALLS,
    request: 'EmbeddingsRequest',
    answer: 'EmbeddingList',
    headers: CALL_HEADERS,
    codes: CODES.embeddings,
    isForBrowsers: true,
  },
  'GET /v1/models': {
    id: 'listModels',
    summary: 'List the models that the project may use',
    description: 'May be cached for ten minutes. Sends an etag and honours If-None-Match.',
    parameters: ['ErrorFormat'],
    answer: 'ModelList',
    headers: ID,
    codes: CODES.list,
    isForBrowsers: true,
  },
  'GET /v1/models/{id}': {
    id: 'getModel',
    summary: 'Get one model of the list',
    description: 'Ids may contain slashes. Put them in the path as they are.',
    parameters: ['ErrorFormat'],
    pathParameter: { name: 'id', description: 'The id of a model.' },
    answer: 'Model',
    headers: ID,
    codes: CODES.model,
    isForBrowsers: true,
  },
  'GET /v1/credits': {
    id: 'getCredits',
    summary: 'Show what is left of the wallet, the limits and the budgets',
    description: 'Covers the calling key pair and, with x-end-user-id, also that end user.',
    parameters: ['EndUserId', 'ErrorFormat'],
    answer: 'Credits',
    headers: ID,
    codes: CODES.credits,
    isForBrowsers: false,
  },
  'GET /v1/receipts/{completion_id}': {
    id: 'getReceipt',
    summary: 'Show how the cost of a call came about',
    description: 'Every call that held credit has a receipt, even a failed one.',
    parameters: ['ErrorFormat'],
    pathParameter: { name: 'completion_id', description: 'The id of an answer, also sent as x-completion-id.' },
    answer: 'Receipt',
    headers: ID,
    codes: CODES.receipt,
    isForBrowsers: false,
  },
  'POST /v1/sessions': {
    id: 'createSession',
    summary: 'Create a short-lived secret for a browser',
    description:
      'Your server requests it and gives it to the page, where it replaces the secret key. All fields are optional. A field that is not listed is refused.',
    parameters: ['EndUserId', 'EndUserLabel', 'ErrorFormat'],
    request: 'SessionRequest',
    isBodyOptional: true,
    answer: 'Session',
    headers: ID,
    codes: CODES.session,
    isForBrowsers: false,
  },
  'POST /v1/conversions': {
    id: 'createConversion',
    summary: 'Report what became of a click',
    description:
      'For advertisers’ servers, in the shape of IAB Tech Lab’s Event and Conversion API 1.0. A field that is not listed is refused. The same id counts once: sent again, the answer is the same.',
    parameters: ['ErrorFormat'],
    request: 'ConversionRequest',
    answer: 'Conversion',
    headers: ID,
    codes: CODES.conversion,
    isForBrowsers: false,
    security: 'conversionKey',
  },
}

/** A path of the router as OpenAPI writes it. */
export function documentedPathOf(route: string): string {
  return route.replace('/v1/models/*', '/v1/models/{id}').replace('/v1/receipts/:id', '/v1/receipts/{completion_id}')
}
