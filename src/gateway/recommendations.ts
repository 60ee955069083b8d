import { createHmac } from 'node:crypto'
import { createLane } from '../platform/batch.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { Secrets } from '../platform/secrets.ts'
import { uuidv7 } from '../platform/uuid.ts'
import { createMatcherClient } from '../recommend/matcher-client.ts'
import { matcherTokenOf } from '../recommend/wire.ts'
import type { ChatRequest, Message } from '../rules/chat-request.ts'
import type { FinishReason, RecommendationChunk } from '../rules/chunk.ts'
import type { Match, Outcome } from '../rules/matching.ts'
import { labelOf, renderBlock, SEPARATOR, withoutBlocks, type Label } from '../rules/recommendation-block.ts'
import type { History } from '../rules/recommendation-caps.ts'
import { idOf, tokenOf } from '../rules/recommendation-token.ts'
import { isUnavailable, type Db } from '../store/database.ts'
import {
  countTurns,
  findRecommended,
  type ConversationDigest,
  type RememberedRestraint,
} from '../store/recommendation-records.ts'
import type { Call } from './call.ts'
import {
  ANSWER_WAIT_MS,
  decide,
  open,
  type Decision,
  type Opening,
  type Situation,
  type Sources,
} from './recommendation-decision.ts'
import { createRecommendationRecords, type RecommendationRecords } from './recommendation-records.ts'

/**
 * Recommendations, from the gateway's side. What a matcher says is asked for beside the answer and read when the answer
 * is there: no piece waits for it, and whatever goes wrong means that there is none.
 */
export interface Recommendations {
  /** The request without the recommendations of former replies: no model reads them, nobody pays for them. */
  strip(request: ChatRequest): { request: ChatRequest; history: History }
  /** Never throws, and what it starts never rejects. */
  begin(call: Call, request: ChatRequest, history: History): Pending
  stop(): Promise<void>
}

export interface Pending {
  /** What to put after a complete answer, if anything. Ends within ANSWER_WAIT_MS. */
  conclude(reply: Message, finishReason: FinishReason): Promise<RecommendationChunk | undefined>
  /** Once, whatever happened: did what was concluded reach the caller? */
  end(isDelivered: boolean): void
}

const RESTRAINT_WAIT_MS = 500
const NOTHING: Pending = { conclude: () => Promise.resolve(undefined), end: () => {} }
/** These keep a conversation free for good. */
const SENSITIVE: ReadonlySet<string> = new Set<Outcome>(['sensitive', 'answer_sensitive', 'excluded_topic'])

export interface RecommendationsOptions {
  db: Db
  secrets: Secrets
  /** Where the matcher of this host answers. */
  matcherUrl: string
  /** Where callers reach this gateway: links begin with it. */
  publicUrl: string
  log: Log
  metrics: Metrics
}

export function createRecommendations(options: RecommendationsOptions): Recommendations {
  const { db, secrets, publicUrl, metrics } = options
  const matcher = createMatcherClient({ url: options.matcherUrl, token: matcherTokenOf(secrets), metrics })
  const records = createRecommendationRecords(options)
  const restraints = createLane<ConversationDigest, RememberedRestraint>({
    run: (keys) => countTurns(db, keys),
    batchMax: 256,
    queueMax: 10_000,
    isTransient: isUnavailable,
    retryEveryMs: 100,
  })
  const sources: Sources = {
    matcher,
    restraintOf: (conversation) => restraints.submit(conversation, RESTRAINT_WAIT_MS),
    recommendedUnder: (projectId, ids) => findRecommended(db, projectId, ids),
  }
  const readToken = createTokenReader(secrets)
  const digestKey = secrets.keyFor('recommendations')

  return {
    strip: (request) => stripped(request, readToken),
    begin(call, request, history) {
      const settings = call.caller.monetization
      const label = settings && labelOf(settings.label)
      if (!settings || settings.mode === 'off' || !label) return NOTHING
      const situation = { call, request, history, settings, conversation: digestOf(call, digestKey) }
      const chunkOf = (id: string, match: Match) => {
        const token = tokenOf(id, { version: secrets.version, key: secrets.keyFor('recommendations') })
        return placed(match, { label, format: settings.format, publicUrl, token })
      }
      return createPending({ sources, records, situation, label, chunkOf })
    },
    async stop() {
      await Promise.all([records.stop(), matcher.close()])
    },
  }
}

interface PendingOptions {
  sources: Sources
  records: RecommendationRecords
  situation: Situation
  label: Label
  chunkOf(id: string, match: Match): RecommendationChunk
}

function createPending({ sources, records, situation, label, chunkOf }: PendingOptions): Pending {
  const { call, settings, conversation } = situation
  const { projectId, isPlayground } = call.caller
  const isTest = settings.mode === 'test'
  const id = uuidv7()
  const noteIfSensitive = <D extends { outcome: string }>(decision: D): D => {
    if (conversation && SENSITIVE.has(decision.outcome))
      records.note({ ...conversation, isSensitive: true, served: undefined })
    return decision
  }
  // Noted as soon as it is known: it holds also when the reader leaves before the answer ends.
  const opened = open(sources, situation)
    .catch((): Opening => ({ outcome: 'unavailable' }))
    .then(noteIfSensitive)
  let concluded: Decision = { outcome: 'aborted' }

  return {
    async conclude(reply, finishReason) {
      concluded = await within(ANSWER_WAIT_MS, { outcome: 'deadline' }, async (isLate): Promise<Decision> => {
        const opening = await opened
        if (opening.outcome !== 'open') return opening
        // A matcher that is late has enough to do.
        if (isLate()) return { outcome: 'deadline' }
        return decide(sources, opening, reply, finishReason, call.signal)
          .catch((): Decision => ({ outcome: 'unavailable' }))
          .then(noteIfSensitive)
      })
      if (concluded.outcome !== 'served' || isTest) return undefined
      try {
        return chunkOf(id, concluded.match)
      } catch {
        // What cannot be shown as it should be is not shown.
        concluded = { outcome: 'unavailable' }
        return undefined
      }
    },
    end(isDelivered) {
      if (concluded.outcome !== 'served') return records.count(projectId, concluded.outcome)
      const { match, turn } = concluded
      records.count(projectId, isTest ? 'test' : isDelivered ? 'served' : 'aborted')
      // What the publisher itself sees in the playground costs no advertiser anything.
      const state = isTest || isPlayground ? 'test' : isDelivered ? 'delivered' : 'aborted'
      const priceNanos = BigInt(match.priceNanos)
      records.add({ ...match, id, projectId, callId: call.id, priceNanos, turn, label, state })
      if (conversation && (isTest || isDelivered))
        records.note({ ...conversation, isSensitive: false, served: { turn, ...match } })
    },
  }
}

function placed(
  match: Match,
  where: { label: Label; format: 'markdown' | 'plain'; publicUrl: string; token: string },
): RecommendationChunk {
  const text = SEPARATOR + renderBlock({ ...match, ...where })
  const { label, publicUrl, token } = where
  const url = `${publicUrl}/r/${token}`
  return {
    type: 'recommendation',
    text,
    sponsored: { label, advertiser: match.advertiser, url, characters: text.length },
  }
}

function digestOf({ caller, conversationId }: Call, key: Buffer): ConversationDigest | undefined {
  if (conversationId === undefined) return undefined
  const digest = createHmac('sha256', key).update(`${caller.projectId}/${conversationId}`).digest()
  return { projectId: caller.projectId, digest }
}

type TokenReader = (token: string) => string | undefined

export function createTokenReader(secrets: Secrets): TokenReader {
  const keyOf = (version: number) => {
    try {
      return secrets.keyFor('recommendations', version)
    } catch {
      return undefined
    }
  }
  return (token) => idOf(token, keyOf)
}

/** A body has room for 190,000 tokens, and each costs a signature to check. No conversation has more of ours than this. */
const TOKENS_MAX = 256

function createBoundedReader(readToken: TokenReader): TokenReader {
  const known = new Map<string, string | undefined>()
  return (token) => {
    if (!known.has(token) && known.size < TOKENS_MAX) known.set(token, readToken(token))
    return known.get(token)
  }
}

export function stripped(request: ChatRequest, readToken: TokenReader): { request: ChatRequest; history: History } {
  let turns = 0
  const recommended: { turn: number; id: string }[] = []
  const readBounded = createBoundedReader(readToken)
  const clean = (text: string) => {
    const { text: rest, ids } = withoutBlocks(text, readBounded)
    for (const id of ids) recommended.push({ turn: turns, id })
    return rest
  }
  const messages = request.messages.map((message): Message => {
    if (message.role !== 'assistant') return message
    turns += 1
    const { content } = message
    if (typeof content === 'string') return { ...message, content: clean(content) }
    if (!content) return message
    const parts = content.map(({ type, text }) => ({ type, text: clean(text) }))
    // Some providers refuse a part without text, which a part that was all ours has become.
    const left = parts.filter(({ text }, n) => text !== '' || content[n]?.text === '')
    return { ...message, content: left.length === 0 ? '' : left }
  })
  return { request: { ...request, messages }, history: { turns, recommended } }
}

/** What came in time, or what stands for it. */
async function within<T>(ms: number, late: T, work: (isLate: () => boolean) => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  let isLate = false
  const tooLate = new Promise<T>((resolve) => {
    timer = setTimeout(() => {
      isLate = true
      resolve(late)
    }, ms)
  })
  try {
    return await Promise.race([work(() => isLate), tooLate])
  } finally {
    clearTimeout(timer)
  }
}
