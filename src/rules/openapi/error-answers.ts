import { ERRORS, type ErrorCode } from '../errors.ts'

/** The errors that each endpoint answers with. */

/** Errors that only the console answers with. */
const OF_CONSOLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'signed_out',
  'sign_in_failed',
  'role_too_low',
  'proof_needed',
  'origin_refused',
  'conflict',
  'too_many_at_once',
  'too_many_attempts',
])

/** The gateway's errors, in the order of docs/errors.md. */
export const GATEWAY_CODES = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => !OF_CONSOLE.has(code))

/** Before anybody knows which endpoint was meant. */
export const BEFORE_ENDPOINTS: readonly ErrorCode[] = [
  'not_found',
  'method_not_allowed',
  'malformed',
  'headers_too_large',
]

const ANYWHERE: readonly ErrorCode[] = [
  'keys_missing',
  'keys_invalid',
  'key_inactive',
  'account_not_activated',
  'domain_not_verified',
  'session_over',
  'origin_not_allowed',
  'too_many_requests',
  'memory_limited',
  'concurrency_limited',
  'store_unavailable',
  'overloaded',
  'internal',
]

/** Where the secret of a browser session has no place. */
const SERVERS_ONLY: readonly ErrorCode[] = ['session_not_allowed']

const WITH_BODY: readonly ErrorCode[] = [
  'not_json_content',
  'body_too_large',
  'body_too_slow',
  'invalid_request',
  'invalid_value',
  'model_not_found',
]

const OF_CALLS: readonly ErrorCode[] = [
  ...ANYWHERE,
  ...WITH_BODY,
  'prompt_too_long',
  'rate_limited',
  'budget_used_up',
  'budget_held',
  'idempotency_running',
  'idempotency_mismatch',
  'credit_insufficient',
  'credit_held',
  'credit_owed',
  'read_too_slowly',
  'upstream_failed',
  'provider_rate_limited',
  'shutting_down',
]

export const CODES = {
  chat: [...OF_CALLS, 'conversation_not_found'],
  embeddings: OF_CALLS,
  list: ANYWHERE,
  model: [...ANYWHERE, 'no_such_model'],
  credits: [...ANYWHERE, ...SERVERS_ONLY],
  receipt: [...ANYWHERE, ...SERVERS_ONLY, 'receipt_not_found'],
  session: [...ANYWHERE, ...SERVERS_ONLY, ...WITH_BODY],
  conversion: [
    ...(['keys_missing', 'keys_invalid', 'too_many_requests', 'not_json_content'] as const),
    ...(['invalid_request', 'invalid_value', 'store_unavailable', 'overloaded', 'internal'] as const),
  ],
} as const satisfies Record<string, readonly ErrorCode[]>

/** Status by status, lowest first. */
export function errorAnswersOf(codes: readonly ErrorCode[]): Record<string, object> {
  const named = GATEWAY_CODES.filter((code) => codes.includes(code))
  const byStatus = Map.groupBy(named, (code) => ERRORS[code].status)
  return Object.fromEntries([...byStatus].map(([status, of]) => [String(status), errorAnswerOf(of)]))
}

/** Statuses that may come with a time to wait. */
const WAITING: ReadonlySet<number> = new Set([403, 409, 429, 503])

function errorAnswerOf(codes: readonly ErrorCode[]): object {
  const [first] = codes
  const waits = first !== undefined && WAITING.has(ERRORS[first].status)
  const names = ['x-request-id', ...(waits ? ['retry-after'] : [])]
  return {
    description: codes.join(', '),
    headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/AnyError' } } },
  }
}
