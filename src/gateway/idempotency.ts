import type { Log } from '../platform/log.ts'
import type { Secrets } from '../platform/secrets.ts'
import type { AssistantMessage, Message } from '../rules/calls/message.ts'
import type { FinishReason, RecommendationChunk, ReplyChunk } from '../rules/calls/chunk.ts'
import { ParleyError } from '../rules/errors.ts'
import { IDEMPOTENCY_KEPT_MS, LARGE_BODY_BYTES } from '../rules/limits.ts'
import type { Usage } from '../rules/billing/usage.ts'
import { orUnavailable, type Db } from '../store/database.ts'
import { claimKey, giveUpKey } from '../store/calls/idempotency.ts'
import type { Call } from './call.ts'
import type { LoadedDigestKeys } from './digest-keys.ts'
import type { Work } from './intake/work.ts'
import { orLacking } from './missing-secret.ts'
import type { Stretch } from './response/order.ts'
import { keyedDigest } from '../rules/keyed-digest.ts'

/** An answer's content as it is kept: a message, or vectors. */
export type StoredReply = StoredMessage | { vectors: readonly string[] }

export interface StoredMessage {
  message: Message
  /** Undefined: thoughts, words, a refusal, calls of tools, each at once. */
  order?: readonly Stretch[]
}

/** The parts of an answer that are kept, so that a retry gets the same one. */
export type StoredAnswer = StoredReply & {
  /** The one that answered. Undefined: stored by a version that knew of no fallbacks. */
  model?: string | undefined
  /** The recommendation that followed it: a retry gets the same. */
  recommendation: RecommendationChunk | undefined
  /** Vectors have none. */
  finishReason: FinishReason | undefined
  usage: Usage
  /** Unix seconds. */
  created: number
}

export interface Replay {
  callId: string
  answer: StoredAnswer
}

export interface Idempotency {
  /**
   * Undefined: this call is the first with its key, or has none. Throws 401, 403, 409, 422, 503; and `unstorable` where the call has
   * a key and its answer cannot be kept.
   */
  claim(call: Call, unstorable?: ParleyError): Promise<Replay | undefined>
  /** For a call that failed before it held credit. */
  giveUp(call: Call): Promise<void>
  /** Sealed: the text of an answer must not lie readable in the database longer than its conversation may. */
  seal(call: Call, answer: StoredAnswer | undefined): string | undefined
}

/** 1 to 255 visible characters. */
const KEY = /^[\x21-\x7e]{1,255}$/
/** A longer answer is not kept. */
const RESULT_CHARACTERS_MAX = 4 * 1024 * 1024

export interface IdempotencyOptions {
  db: Db
  secrets: Secrets
  digestKeys: Pick<LoadedDigestKeys, 'keyFor'>
  log: Log
  gatewayId: string
  leaseMs: number
  work: Pick<Work, 'run' | 'runInTurn'>
  statements?: typeof STATEMENTS
}

/** The statements that it sends to the store. A simulation brings its own. */
const STATEMENTS = { claimKey, giveUpKey }

export function createIdempotency({ statements = STATEMENTS, ...options }: IdempotencyOptions): Idempotency {
  const { db, secrets, digestKeys, log, gatewayId, leaseMs, work } = options
  const digestOf = (text: string) => keyedDigest(digestKeys.keyFor('message-digests')).update(text).digest()
  /** Work that takes longer the larger its input is belongs to its account's share of the work. */
  const share = async <T>({ caller: { publisherId } }: Call, size: number, doing: () => T): Promise<T> =>
    size < LARGE_BODY_BYTES ? work.run(publisherId, doing) : work.runInTurn(publisherId, async () => doing())

  function replayOf(callId: string, sealed: string): Replay {
    const text = orLacking(log, () => secrets.unseal(sealed, `result/${callId}`, 'stored-results'))
    return { callId, answer: JSON.parse(text) as StoredAnswer }
  }

  return {
    async claim(call, unstorable) {
      const key = call.idempotencyKey
      if (key === undefined) return undefined
      if (!KEY.test(key)) {
        throw new ParleyError('invalid_value', {
          message: 'Idempotency-Key must be 1 to 255 visible characters.',
          param: 'Idempotency-Key',
        })
      }
      if (unstorable) throw unstorable
      // A key is good for the session that sent it: one browser gets no answer that another one asked for.
      const { projectId, keyPairId, session } = call.caller
      const claim = {
        projectId,
        keyPairId,
        sessionId: session?.id,
        keyDigest: digestOf(session ? `session ${session.id} key ${key}` : `key ${key}`),
        bodyDigest: await share(call, call.bodyBytes, () => {
          return digestOf(`body ${endpointIn(call)}${call.conversationId ?? ''} ${JSON.stringify(call.body)}`)
        }),
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
      return share(call, result.length, () => replayOf(callId, result))
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

/** The same body may mean something else at another endpoint. Nothing for chat: what is stored keeps its digest. */
function endpointIn({ endpoint }: Call): string {
  return endpoint === 'chat' ? '' : `${endpoint} `
}

/** A stored answer as the chunks that a stream or a JSON body is made of. */
export function* chunksOf(answer: StoredAnswer): Generator<ReplyChunk> {
  const { recommendation, finishReason, usage } = answer
  if ('vectors' in answer) {
    for (const [index, vector] of answer.vectors.entries()) yield { type: 'embedding', index, vector }
  } else yield* chunksOfMessage(answer)
  if (recommendation) yield recommendation
  if (finishReason) yield { type: 'finish', reason: finishReason }
  yield { type: 'usage', usage }
}

function* chunksOfMessage({ message, order }: StoredMessage): Generator<ReplyChunk> {
  if (message.role === 'assistant') {
    yield* contentOf(message, order ?? usualOrderOf(message))
    if (message.reasoning_signature) yield { type: 'reasoning_signature', signature: message.reasoning_signature }
  }
}

function usualOrderOf(message: AssistantMessage): Stretch[] {
  const texts = (['reasoning', 'text', 'refusal'] as const).map((type) => {
    return { type, characters: textIn(message, type).length }
  })
  const calls = (message.tool_calls ?? []).map((_, call) => ({ type: 'tool_call' as const, call }))
  return [...texts.filter(({ characters }) => characters > 0), ...calls]
}

function* contentOf(message: AssistantMessage, order: readonly Stretch[]): Generator<ReplyChunk> {
  const from = { reasoning: 0, text: 0, refusal: 0 }
  for (const stretch of order) {
    if (stretch.type === 'tool_call') {
      const { call: index } = stretch
      const call = message.tool_calls?.[index]
      if (call)
        yield { type: 'tool_call', index, id: call.id, name: call.function.name, arguments: call.function.arguments }
    } else {
      const { type, characters } = stretch
      yield { type, text: textIn(message, type).slice(from[type], (from[type] += characters)) }
    }
  }
}

function textIn(message: AssistantMessage, type: 'reasoning' | 'text' | 'refusal'): string {
  if (type === 'reasoning') return message.reasoning_content ?? ''
  if (type === 'refusal') return message.refusal ?? ''
  return typeof message.content === 'string' ? message.content : ''
}
