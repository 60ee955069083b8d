import { createHmac } from 'node:crypto'
import type { Log } from '../platform/log.ts'
import type { Secrets } from '../platform/secrets.ts'
import type { Message } from '../rules/calls/message.ts'
import type { FinishReason, RecommendationChunk, ReplyChunk } from '../rules/calls/chunk.ts'
import { ParleyError } from '../rules/errors.ts'
import { fieldsIn } from '../rules/record.ts'
import { IDEMPOTENCY_KEPT_MS } from '../rules/limits.ts'
import type { Usage } from '../rules/billing/usage.ts'
import { orUnavailable, type Db } from '../store/database.ts'
import { claimKey, giveUpKey } from '../store/calls/idempotency.ts'
import type { Call } from './call.ts'
import type { LoadedDigestKeys } from './digest-keys.ts'
import { orLacking } from './missing-secret.ts'

/** What is kept of an answer, so that a retry gets the same one. */
export interface StoredAnswer {
  message: Message
  /** What stood after it: a retry gets the same. */
  recommendation: RecommendationChunk | undefined
  finishReason: FinishReason
  usage: Usage
  /** Unix seconds. */
  created: number
}

export interface Replay {
  callId: string
  answer: StoredAnswer
}

export interface Idempotency {
  /** Undefined: this call is the first with its key, or has none. Throws 401, 403, 409, 422, 503. */
  claim(call: Call): Promise<Replay | undefined>
  /** For a call that failed before it held credit. */
  giveUp(call: Call): Promise<void>
  /** Sealed: the text of an answer must not lie readable in the database longer than its conversation may. */
  seal(call: Call, answer: StoredAnswer | undefined): string | undefined
}

/** 1 to 255 visible characters. */
const KEY = /^[\x21-\x7e]{1,255}$/
const RESULT_CHARACTERS_MAX = 4 * 1024 * 1024

export interface IdempotencyOptions {
  db: Db
  secrets: Secrets
  digestKeys: Pick<LoadedDigestKeys, 'keyFor'>
  log: Log
  gatewayId: string
  leaseMs: number
  statements?: typeof STATEMENTS
}

/** What it asks of the store. A simulation brings its own. */
const STATEMENTS = { claimKey, giveUpKey }

export function createIdempotency({ statements = STATEMENTS, ...options }: IdempotencyOptions): Idempotency {
  const { db, secrets, digestKeys, log, gatewayId, leaseMs } = options
  const digestOf = (text: string) => createHmac('sha256', digestKeys.keyFor('message-digests')).update(text).digest()

  return {
    async claim(call) {
      const key = call.idempotencyKey
      if (key === undefined) return undefined
      if (!KEY.test(key)) {
        throw new ParleyError('invalid_value', {
          message: 'Idempotency-Key must be 1 to 255 visible characters.',
          param: 'Idempotency-Key',
        })
      }
      if (fieldsIn(call.body).logprobs === true) {
        throw new ParleyError('invalid_value', {
          message: 'logprobs are too large to be stored for a retry: leave out logprobs, or the Idempotency-Key.',
          param: 'logprobs',
        })
      }
      const claim = {
        projectId: call.caller.projectId,
        keyPairId: call.caller.keyPairId,
        keyDigest: digestOf(`key ${key}`),
        bodyDigest: digestOf(`body ${call.conversationId ?? ''} ${JSON.stringify(call.body)}`),
        callId: call.id,
        gatewayId,
        conversationId: call.conversationId,
      }
      const { state, result, callId } = await orUnavailable(
        statements.claimKey(db, claim, leaseMs, IDEMPOTENCY_KEPT_MS),
      )
      if (state === 'claimed') return undefined
      if (state === 'mismatch') throw new ParleyError('idempotency_mismatch', { param: 'Idempotency-Key' })
      if (state !== 'replay' && state !== 'running') throw new ParleyError(state)
      if (state === 'running' || result === null) throw new ParleyError('idempotency_running', { retryAfterSeconds: 1 })
      const text = orLacking(log, () => secrets.unseal(result, `result/${callId}`, 'stored-results'))
      return { callId, answer: JSON.parse(text) as StoredAnswer }
    },
    async giveUp(call) {
      // If the store is away the claim stays; the gateway gives it up when it finds that no running call has it.
      if (call.idempotencyKey !== undefined) await statements.giveUpKey(db, call.id).catch(() => {})
    },
    seal(call, answer) {
      if (call.idempotencyKey === undefined || answer === undefined) return undefined
      const text = JSON.stringify(answer)
      return text.length > RESULT_CHARACTERS_MAX ? undefined : secrets.seal(text, `result/${call.id}`, 'stored-results')
    },
  }
}

/** A stored answer as the chunks that a stream or a JSON body is made of. */
export function* chunksOf(answer: StoredAnswer): Generator<ReplyChunk> {
  const { message, recommendation, finishReason, usage } = answer
  if (message.role === 'assistant' && message.reasoning_content)
    yield { type: 'reasoning', text: message.reasoning_content }
  if (typeof message.content === 'string' && message.content !== '') yield { type: 'text', text: message.content }
  if (message.role === 'assistant') {
    if (message.refusal) yield { type: 'refusal', text: message.refusal }
    for (const [index, call] of (message.tool_calls ?? []).entries()) {
      yield { type: 'tool_call', index, id: call.id, name: call.function.name, arguments: call.function.arguments }
    }
    if (message.reasoning_signature) yield { type: 'reasoning_signature', signature: message.reasoning_signature }
  }
  if (recommendation) yield recommendation
  yield { type: 'finish', reason: finishReason }
  yield { type: 'usage', usage }
}
