/**
 * The one error class and the one catalogue of everything a caller can be told. docs/errors.md is this table in prose:
 * a test compares that both have the same codes with the same statuses, in the same order.
 *
 * `message` is public: it says what happened and what to do, and never repeats a key or a prompt. `details` are for the
 * log line only, and hold codes and numbers, never text that a user or a provider wrote.
 */
export const ERRORS = {
  not_found: {
    status: 404,
    message:
      'There is no such endpoint. Parley answers POST /v1/chat/completions, POST /v1/responses, POST /v1/embeddings, GET /v1/models, GET /v1/credits, GET /v1/receipts/{completion_id}, POST /v1/sessions and POST /v1/conversions.',
  },
  method_not_allowed: { status: 405, message: 'This endpoint does not support that method. See the Allow header.' },
  malformed: { status: 400, message: 'This is not a valid HTTP request.' },
  headers_too_large: { status: 431, message: 'The request headers are too large.' },
  keys_missing: {
    status: 401,
    message:
      'Send both keys: the headers x-publishable-key and x-secret-key, or Authorization: Bearer PUBLISHABLE:SECRET. One or both are missing.',
  },
  keys_invalid: {
    status: 401,
    message: 'The key pair is not valid. Check that both keys are complete and come from the same pair.',
  },
  key_inactive: {
    status: 401,
    message:
      'This key pair is inactive or has expired. Activate it, or create a new pair, under API Keys of your project.',
  },
  account_not_activated: {
    status: 403,
    message: 'The publisher account is not active. Confirm your email address in the console, or ask the operator.',
  },
  domain_not_verified: {
    status: 403,
    message:
      'The domain of this project is not verified yet, or no longer verified. Verify it on the Domain page of your project in the console.',
  },
  session_over: {
    status: 401,
    message: 'This session has ended. Have your server create another one: POST /v1/sessions.',
  },
  session_not_allowed: {
    status: 403,
    message:
      'The secret of a session is only for calls and GET /v1/models. Send this request from your server, with the secret key of the pair.',
  },
  origin_not_allowed: { status: 403, message: 'This page may not use this secret.' },
  too_many_requests: { status: 429, message: 'Too many requests. Retry after the stated time.' },
  memory_limited: {
    status: 429,
    message: 'The requests this project has in flight are too large together. Retry when some have ended.',
  },
  not_json_content: { status: 415, message: 'Send the body as JSON, with the header Content-Type: application/json.' },
  body_too_large: { status: 413, message: 'The request body is too large.' },
  body_too_slow: { status: 408, message: 'The request did not arrive in time. Send it again.' },
  invalid_request: { status: 400, message: 'The request is not valid.' },
  invalid_value: { status: 422, message: 'A field of the request has a value that is not valid.' },
  conversation_not_found: {
    status: 404,
    message:
      'x-conversation-id does not name a usable conversation: use 1 to 128 characters of A-Z a-z 0-9 . _ : - and do not reuse the id of a deleted conversation.',
  },
  model_not_found: {
    status: 422,
    message: 'The model is not available to this project. GET /v1/models lists the ones that are.',
  },
  prompt_too_long: {
    status: 422,
    message: "The prompt is longer than the model's context window. Shorten the messages.",
  },
  rate_limited: { status: 429, message: 'A limit per minute is reached. Retry after the stated time.' },
  concurrency_limited: { status: 429, message: 'A limit of concurrent calls is reached. Retry shortly.' },
  budget_used_up: { status: 403, message: 'A budget is used up. Raise it under Limits in the console to continue.' },
  budget_held: {
    status: 403,
    message: 'The rest of a budget is held by calls in flight. Retry when they have ended, or raise the budget.',
  },
  idempotency_running: {
    status: 409,
    message: 'The first call with this Idempotency-Key is still running. Retry to get its answer when it has ended.',
  },
  idempotency_mismatch: {
    status: 422,
    message: 'This Idempotency-Key was used with another body. Use a new key for a new request.',
  },
  receipt_not_found: { status: 404, message: 'There is no receipt with this id in this project.' },
  no_such_model: {
    status: 404,
    message: 'This project has no model with this id. GET /v1/models lists the ones it has.',
  },
  credit_insufficient: {
    status: 403,
    message: 'Insufficient credit: the balance cannot pay for this prompt and one token of reply. Top up the wallet.',
  },
  credit_held: {
    status: 403,
    message:
      'Insufficient credit right now: the rest of the balance is held by calls in flight. Retry when they have ended, or top up the wallet.',
  },
  credit_owed: {
    status: 403,
    message:
      'A payment for a project of this account was reversed after its credit had been spent. Top up the wallet that owes: the debt is paid first.',
  },
  signed_out: { status: 401, message: 'Sign in to continue.' },
  sign_in_failed: { status: 401, message: 'The email address or the password is incorrect.' },
  role_too_low: { status: 403, message: 'Your role does not allow this. Ask an owner or an admin of the account.' },
  proof_needed: {
    status: 403,
    message: 'Confirm that it is you: enter your password and try again.',
  },
  origin_refused: { status: 403, message: 'This request does not come from the console itself.' },
  conflict: { status: 409, message: 'This is not possible in the current state.' },
  too_many_at_once: {
    status: 429,
    message: 'Too many of your requests are running at once. Wait a moment and try again.',
  },
  too_many_attempts: { status: 429, message: 'Too many attempts. Try again after the stated time.' },
  read_too_slowly: {
    status: 408,
    message: 'The answer was left unread for so long that the model provider gave up. What it had written was charged.',
  },
  upstream_failed: { status: 502, message: 'The model provider could not answer. Retry.' },
  provider_rate_limited: {
    status: 503,
    message: 'The model provider is limiting requests. Retry after the stated time, or use another model.',
  },
  store_unavailable: { status: 503, message: 'Parley is temporarily unavailable. Retry with exponential backoff.' },
  overloaded: { status: 503, message: 'Parley is at capacity. Retry with exponential backoff.' },
  shutting_down: { status: 503, message: 'This instance is shutting down. Retry: another one will answer.' },
  internal: {
    status: 500,
    message: 'Something went wrong inside Parley. Retry, and quote x-request-id to support if it keeps happening.',
  },
} as const satisfies Record<string, { status: number; message: string }>

export type ErrorCode = keyof typeof ERRORS

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code)
}

export interface KeyOwner {
  projectId: string
  keyPairId: string
  /** By the secret of a browser session. */
  viaSession: boolean
}

interface ErrorOptions {
  /** Replaces the catalogue's sentence where a case can be more precise. */
  message?: string | undefined
  /** The request field that is wrong, as a path: `messages[2].role`. */
  param?: string
  /** Every field of a form that is wrong, for the console to show beside each. */
  fields?: { path: string; message: string }[]
  retryAfterSeconds?: number
  allow?: string
  /** Further headers of the answer. */
  headers?: Record<string, string>
  /**
   * The owner of a key that was sent, where it is known though the key was refused: for the owner's list alone, in no answer
   * and no log line.
   */
  keyOwner?: KeyOwner
  /** For logs and metrics only. */
  details?: Record<string, string | number | boolean | undefined>
}

export class ParleyError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly options: ErrorOptions

  constructor(code: ErrorCode, options: ErrorOptions = {}) {
    super(options.message ?? ERRORS[code].message)
    this.name = 'ParleyError'
    this.code = code
    this.status = ERRORS[code].status
    this.options = options
  }
}

export function methodNotAllowed(method: string, allow: string): ParleyError {
  const message = `This endpoint does not support ${method}. It takes ${allow.replace(', ', ' and ')}.`
  return new ParleyError('method_not_allowed', { allow, message })
}

/**
 * The error for callers while the store does not answer, which seldom lasts longer than they are asked to wait. `details` are
 * for the log line.
 */
export function storeUnavailable(details?: ErrorOptions['details']): ParleyError {
  return new ParleyError('store_unavailable', { retryAfterSeconds: 2, ...(details && { details }) })
}

/** Anything that was not foreseen is `internal`; its text stays inside. */
export function asParleyError(error: unknown): ParleyError {
  if (error instanceof ParleyError) return error
  return new ParleyError('internal', { details: { name: error instanceof Error ? error.name : typeof error } })
}
