import { ERRORS, type ErrorCode, type ParleyError } from './errors.ts'
import { visibleText } from './visible-text.ts'

/** Requests that were refused before they reached a model, as they are noted for their publisher. */
export interface RefusedRequest {
  /** The x-request-id of the first one that it stands for, a uuid of version 7: it says when that was. */
  id: string
  projectId: string
  keyPairId: string
  /** Sent with the secret of a browser session, which anybody may read in a page. */
  viaSession: boolean
  status: number
  code: string
  /** The sentence that the caller got. */
  message: string
  param: string | null
  /** Method and path. */
  endpoint: string
  /** As the caller named it. */
  model: string | null
  /** How many requests it stands for. */
  times: number
  lastAt: Date
}

/** Per project and minute, in each process: more requests are counted with those that have a row of their own. */
export const REFUSED_ROWS_PER_MINUTE = {
  /** For each code, and one more for each key pair that has none. */
  code: 40,
  /** For each code and key pair, its browser sessions apart: a flood in one hides nothing of the others. */
  pair: 10,
}
/** For each code and key pair per hour, its browser sessions apart, however many processes write. */
export const REFUSED_ROWS_PER_HOUR = 60

const MESSAGE_CHARACTERS_MAX = 500
const PARAM_CHARACTERS_MAX = 200
const MODEL_CHARACTERS_MAX = 100
const PATH_CHARACTERS_MAX = 100
/** A path may hold anything, also a key that somebody has pasted into it. */
const SHOWN_PATH = /^\/[a-z0-9/._-]*$/i
const KEY_PREFIX = /ply_[a-z]{2}_|\bsk-/i

/** Returns the part of a refusal that is noted. Undefined: it says nothing that its publisher could mend. */
export function refusalWords(error: ParleyError) {
  if (error.status >= 500) return undefined
  return {
    status: error.status,
    code: error.code,
    message: cut(error.message, MESSAGE_CHARACTERS_MAX),
    param: error.options.param === undefined ? null : cut(error.options.param, PARAM_CHARACTERS_MAX),
  }
}

/** Takes the name in `model` from a parsed body, and nothing else. */
export function namedModelOf(body: unknown): string | null {
  const model = typeof body === 'object' && body !== null ? (body as { model?: unknown }).model : undefined
  return typeof model === 'string' && model !== '' ? cut(model, MODEL_CHARACTERS_MAX) : null
}

/** `known` is the path as our router has it: what stands in its parameters is not noted. */
export function endpointNoted(method: string, url: string, known: string | undefined): string {
  if (known !== undefined) return `${method} ${known}`
  const path = url.split('?', 1)[0] ?? ''
  const isShown = path.length <= PATH_CHARACTERS_MAX && SHOWN_PATH.test(path) && !KEY_PREFIX.test(path)
  return `${method} ${isShown ? path : '(another path)'}`
}

/** Cut before anything else reads it: one may be as long as the body. */
function cut(text: string, most: number): string {
  const start = Array.from(visibleText(text.slice(0, 2 * most)))
  return start.length <= most && text.length <= 2 * most ? start.join('') : `${start.slice(0, most - 1).join('')}…`
}

interface Explanation {
  /** The cause of the refusal. */
  what: string
  /** The remedy. */
  advice: string
}

/** Every code that a publisher can find among its refused requests, in the words of docs/errors.md: a test compares them. */
export const REFUSAL_EXPLANATIONS = {
  not_found: { what: 'unknown path', advice: 'check the base URL: paths begin with `/v1`' },
  method_not_allowed: {
    what: 'known path, wrong method',
    advice: 'use a method listed in `Allow`',
  },
  keys_missing: {
    what: 'one or both key headers are missing',
    advice: 'send `x-publishable-key` and `x-secret-key`',
  },
  keys_invalid: { what: 'unknown, mismatched or malformed keys', advice: 'copy both keys of one pair again' },
  key_inactive: {
    what: 'the key pair is right, but inactive or expired',
    advice: 'activate it, or create a new pair',
  },
  account_not_activated: {
    what: 'the publisher account is not active yet, or no longer active',
    advice: 'confirm your email address in the console, or ask the operator',
  },
  domain_not_verified: {
    what: 'the project’s domain is not verified yet, or no longer verified',
    advice: 'verify it on the project’s Domain page in the console',
  },
  session_over: {
    what: 'the secret belongs to a browser session that has expired or was ended',
    advice: 'have your server create another one',
  },
  session_not_allowed: {
    what: 'the secret of a browser session was used for something other than calls and the list of models',
    advice: 'send the request from your server, with the secret key of the pair',
  },
  origin_not_allowed: {
    what: 'this page may not use the secret of this browser session; the message names the page and the verified domain',
    advice: 'use it on https pages of that domain; list a port in `origins`',
  },
  too_many_requests: {
    what: 'this key pair, browser session or network address sends requests too fast, counting refused ones; or the pair has 10,000 open sessions',
    advice: 'wait `Retry-After`',
  },
  memory_limited: {
    what: 'this key pair’s or project’s requests in flight are too large together',
    advice: 'wait `Retry-After`, or send fewer large requests at a time',
  },
  not_json_content: {
    what: 'the content type is not JSON',
    advice: 'send `Content-Type: application/json`',
  },
  body_too_large: {
    what: 'the body is over 8 MiB',
    advice: 'send less',
  },
  body_too_slow: {
    what: 'the headers took longer than 10 s to arrive, the whole request longer than 30 s, or the body stopped for 5 s or came in at less than 4 KiB a second',
    advice: 'send it again',
  },
  invalid_request: {
    what: 'invalid JSON, no `model`, or neither `messages` nor `input`',
    advice: 'fix the body',
  },
  invalid_value: {
    what: 'a field has an impossible value, or one that the model does not support',
    advice: 'the message names the field',
  },
  conversation_not_found: {
    what: 'the conversation id is malformed or was deleted',
    advice: 'use another id',
  },
  model_not_found: {
    what: 'the model is not available to this project, or is for another endpoint',
    advice: 'pick one from `GET /v1/models`; the message names the endpoint',
  },
  prompt_too_long: {
    what: 'the prompt, or one embeddings input, is longer than the model’s context window',
    advice: 'shorten the messages or inputs, or use a model with a larger window',
  },
  rate_limited: {
    what: 'the account, project, key pair or end user has used its requests or tokens per minute; the message says which',
    advice: 'wait `Retry-After`',
  },
  concurrency_limited: {
    what: 'one of these has too many concurrent calls, or more than its fair share of the process',
    advice: 'wait `Retry-After`',
  },
  budget_used_up: {
    what: 'a money budget of one of these is used up, or a browser session’s money or calls are; the message says which, and when it resets',
    advice: 'wait for the reset, raise the budget, or create another session',
  },
  budget_held: {
    what: 'calls in flight hold the rest of such a budget',
    advice: 'wait `Retry-After`',
  },
  idempotency_running: {
    what: 'the first call with this `Idempotency-Key` has not ended',
    advice: 'wait `Retry-After` and send it again',
  },
  idempotency_mismatch: {
    what: 'the `Idempotency-Key` was used with a different body',
    advice: 'use a new key',
  },
  receipt_not_found: {
    what: 'this project has no such receipt',
    advice: 'use the `id` of a completion of this project',
  },
  no_such_model: {
    what: '`GET /v1/models/{id}`: this project has no such model',
    advice: 'use an `id` from `GET /v1/models`',
  },
  credit_insufficient: {
    what: 'the balance cannot pay for the prompt and one token; if the wallet is empty, a body over 64 KiB is not even read',
    advice: 'top up: the credit counts within 2 s',
  },
  credit_held: {
    what: 'the balance could pay, but running calls hold the credit',
    advice: 'wait `Retry-After`, or top up',
  },
  credit_owed: {
    what: 'a payment for this or another project of the account was reversed after its credit had been spent',
    advice: 'top up the wallet that owes: the debt is paid first',
  },
} as const satisfies Partial<Record<ErrorCode, Explanation>>

/** As sentences, for people. Of a code that this version does not know: nothing. */
export function explanationOf(code: string): Explanation | undefined {
  const known: Partial<Record<string, Explanation>> = REFUSAL_EXPLANATIONS
  const found = Object.hasOwn(known, code) ? known[code] : undefined
  return found && { what: sentence(found.what), advice: sentence(found.advice) }
}

function sentence(words: string): string {
  const text = words.replaceAll('`', '')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

export const REFUSAL_CODES = Object.keys(REFUSAL_EXPLANATIONS) as (keyof typeof REFUSAL_EXPLANATIONS)[]

/** The codes of a status, for a filter. */
export function refusalCodesOf(status: number): string[] {
  return REFUSAL_CODES.filter((code) => ERRORS[code].status === status)
}
