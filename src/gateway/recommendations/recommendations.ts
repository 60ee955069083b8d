import { createSecretKey, type KeyObject } from 'node:crypto'
import type { Repeat } from '../../platform/every.ts'
import type { Log } from '../../platform/log.ts'
import type { Metrics } from '../../metrics.ts'
import type { Secrets } from '../../platform/secrets.ts'
import { timeOfUuid, uuidv7 } from '../../platform/uuid.ts'
import { createMatcherClient } from '../../recommend/matcher-client.ts'
import { matcherTokenOf } from '../../recommend/wire.ts'
import type { ChatRequest } from '../../rules/calls/chat-request.ts'
import type { Message } from '../../rules/calls/message.ts'
import type { FinishReason, RecommendationChunk } from '../../rules/calls/chunk.ts'
import type { Match, RecommendationOutcome } from '../../rules/recommendations/matching.ts'
import {
  labelOf,
  renderBlock,
  SEPARATOR,
  withoutBlocks,
  wordsOfBlock,
  type Block,
  type Label,
} from '../../rules/recommendations/block.ts'
import type { History } from '../../rules/recommendations/caps.ts'
import { idOfLine, tokenOf, type KeyOf } from '../../rules/recommendations/link-token.ts'
import type { Db } from '../../store/database.ts'
import { createLookups } from '../../store/lookups.ts'
import { countTurns, findRecommended, type ConversationDigest } from '../../store/recommendations/records.ts'
import type { Caller } from '../authenticate.ts'
import type { Call } from '../call.ts'
import type { NetworkTags } from './network-tags.ts'
import type { LoadedDigestKeys } from '../digest-keys.ts'
import { decide, open, type Decision, type Opening, type Situation, type Sources } from './decision.ts'
import { createRecommendationRecords, type RecommendationRecords } from './records.ts'
import { keyedDigest } from '../../rules/keyed-digest.ts'

/**
 * Recommendations, from the gateway's side. What a matcher says is asked for beside the answer and read when the answer
 * is there: no chunk waits for it, and whatever goes wrong means that there is none.
 */
export interface Recommendations {
  /** The request without the recommendations of former replies: no model reads them, nobody pays for them. */
  strip(caller: Pick<Caller, 'projectId'>, request: ChatRequest): { request: ChatRequest; history: History }
  /** Never throws, and what it starts never rejects. */
  begin(call: Call, request: ChatRequest, history: History): Pending
  stop(): Promise<void>
}

export interface Pending {
  /** The recommendation to put after a complete answer, if any. Ends within `answerWaitMs`. */
  conclude(reply: Message, finishReason: FinishReason): Promise<RecommendationChunk | undefined>
  /** The outcome, when this much is known of its delivery. Undefined: there was never to be one. */
  outcome(isDelivered: boolean, hasFailed: boolean): RecommendationOutcome | undefined
  /** Once, whatever happened: did what was concluded reach the caller, and did our side or the provider break the call? */
  end(isDelivered: boolean, hasFailed: boolean): void
}

const RESTRAINT_WAIT_MS = 500
/** How long a complete answer waits for a recommendation. */
const ANSWER_WAIT_MS = 150
const NOTHING: Pending = { conclude: () => Promise.resolve(undefined), outcome: () => undefined, end: () => {} }
/** These keep a conversation free for good. */
const SENSITIVE: ReadonlySet<string> = new Set<RecommendationOutcome>([
  'sensitive',
  'answer_sensitive',
  'excluded_topic',
])

export interface RecommendationsOptions {
  db: Db
  secrets: Secrets
  digestKeys: Pick<LoadedDigestKeys, 'keyFor'>
  networkTags: NetworkTags
  /** Where the matcher of this host answers. */
  matcherUrl: string
  /** Where callers reach this gateway: links begin with it. */
  publicUrl: string
  answerWaitMs?: number
  log: Log
  metrics: Metrics
  repeat: Repeat
}

export function createRecommendations(options: RecommendationsOptions): Recommendations {
  const { db, secrets, networkTags, publicUrl, metrics, answerWaitMs = ANSWER_WAIT_MS } = options
  const matcher = createMatcherClient({ url: options.matcherUrl, token: matcherTokenOf(secrets), metrics })
  const records = createRecommendationRecords(options)
  const restraints = createLookups((keys: readonly ConversationDigest[]) => countTurns(db, keys))
  const sources: Sources = {
    matcher,
    restraintOf: (conversation) => restraints.submit(conversation, RESTRAINT_WAIT_MS),
    recommendedUnder: (projectId, ids) => findRecommended(db, projectId, ids),
    answerWaitMs,
  }
  const keyOf = signingKeysOf(secrets)
  const signing = { version: secrets.version, key: createSecretKey(secrets.keyFor('recommendations')) }

  return {
    strip: ({ projectId }, request) => stripRecommendations(request, projectId, keyOf),
    begin(call, request, history) {
      const settings = call.caller.monetization
      const label = settings && labelOf(settings.label)
      if (!settings || settings.mode === 'off' || !label) return NOTHING
      const situation = {
        call,
        request,
        history,
        settings,
        conversation: digestOf(call, options.digestKeys.keyFor('recommendations')),
      }
      const { projectId } = call.caller
      const chunkOf = (id: string, match: Match) => {
        const offer = { ...match, format: settings.format }
        const token = tokenOf(id, { projectId, words: wordsOfBlock(offer) }, signing)
        return recommendationChunkOf({ ...offer, label, publicUrl, token })
      }
      return createPending({ sources, records, networkTags, situation, label, chunkOf })
    },
    async stop() {
      await Promise.all([records.stop(), matcher.close()])
    },
  }
}

interface PendingOptions {
  sources: Sources
  records: RecommendationRecords
  networkTags: NetworkTags
  situation: Situation
  label: Label
  chunkOf(id: string, match: Match): RecommendationChunk
}

function createPending({ sources, records, networkTags, situation, label, chunkOf }: PendingOptions): Pending {
  const { call, settings, conversation } = situation
  const { projectId, isPlayground } = call.caller
  const isTest = settings.mode === 'test'
  const id = uuidv7()
  const noteIfSensitive = <D extends { outcome: string }>(decision: D): D => {
    if (conversation && SENSITIVE.has(decision.outcome)) records.noteSensitive(conversation)
    return decision
  }
  // Noted as soon as it is known: it holds also when the reader leaves before the answer ends.
  const opened = open(sources, situation)
    .catch((): Opening => ({ outcome: 'unavailable' }))
    .then(noteIfSensitive)
  let concluded: Decision = { outcome: 'aborted' }
  let chunk: RecommendationChunk | undefined

  async function conclusion(reply: Message, finishReason: FinishReason, isLate: () => boolean): Promise<Decision> {
    const opening = await opened
    if (opening.outcome !== 'open') return opening
    // A matcher that is late has enough to do.
    if (isLate()) return { outcome: 'deadline' }
    const decision = noteIfSensitive(await decide(sources, opening, reply, finishReason, call.signal))
    if (decision.outcome !== 'served' || isLate()) return decision
    const { match, turn } = decision
    chunk = chunkOf(id, match)
    const isReaders = await isCalledByReader(networkTags, call)
    const networkTag = isReaders ? undefined : await networkTags.tagOf(call.address, timeOfUuid(id))
    const place = { projectId, callId: call.id, conversation: conversation?.digest, networkTag, turn, label }
    const record = { ...match, ...place, id, priceNanos: BigInt(match.priceNanos) }
    return (await records.add(record, sources.answerWaitMs)) ? decision : { outcome: 'no_match' }
  }

  function outcome(isDelivered: boolean, hasFailed: boolean): RecommendationOutcome {
    const missed = hasFailed ? 'failed' : 'aborted'
    if (concluded.outcome !== 'served') return concluded.outcome === 'aborted' ? missed : concluded.outcome
    return isTest ? 'test' : isDelivered ? 'served' : missed
  }

  return {
    outcome,
    async conclude(reply, finishReason) {
      concluded = await within(sources.answerWaitMs, { outcome: 'deadline' }, (isLate) =>
        // A recommendation that cannot be written down, or be shown as it should be, is not shown.
        conclusion(reply, finishReason, isLate).catch((): Decision => ({ outcome: 'unavailable' })),
      )
      return concluded.outcome === 'served' && !isTest ? chunk : undefined
    },
    end(isDelivered, hasFailed) {
      records.count(projectId, outcome(isDelivered, hasFailed))
      if (concluded.outcome !== 'served') return
      // A recommendation that the publisher itself sees in the playground costs no advertiser anything.
      if (isTest || isPlayground) records.setState({ id, state: 'test' })
      else if (isDelivered) records.setState({ id, state: 'delivered' })
    },
  }
}

/**
 * With the secret of a browser session it is the reader who calls, and whose click may follow: but not from the network that asked
 * for the session, which is the site's own.
 */
async function isCalledByReader(networkTags: NetworkTags, { caller, address }: Call): Promise<boolean> {
  const { session } = caller
  if (!session) return false
  const { id, networkTag } = session
  if (networkTag === null) return true
  const tag = await networkTags.tagOf(address, timeOfUuid(id))
  return tag === undefined || !tag.equals(networkTag)
}

function recommendationChunkOf(block: Block): RecommendationChunk {
  const { label, advertiser, publicUrl, token } = block
  const text = SEPARATOR + renderBlock(block)
  const url = `${publicUrl}/r/${token}`
  return { type: 'recommendation', text, sponsored: { label, advertiser, url, characters: text.length } }
}

function digestOf({ caller, conversationId }: Call, key: Buffer): ConversationDigest | undefined {
  if (conversationId === undefined) return undefined
  const digest = keyedDigest(key).update(`${caller.projectId}/${conversationId}`).digest()
  return { projectId: caller.projectId, digest }
}

/** Remembered for each version, known or not: there are at most as many as two bytes can say. */
export function signingKeysOf(secrets: Secrets): KeyOf {
  const keys = new Map<number, KeyObject | undefined>()
  const find = (version: number) => {
    try {
      return createSecretKey(secrets.keyFor('recommendations', version))
    } catch {
      return undefined
    }
  }
  return (version) => {
    if (!keys.has(version)) keys.set(version, find(version))
    return keys.get(version)
  }
}

/** No conversation has more of ours than this. All are taken out; the last of them count. */
const RECOMMENDED_MAX = 256

export function stripRecommendations(
  request: ChatRequest,
  projectId: string,
  keyOf: KeyOf,
): { request: ChatRequest; history: History } {
  let turns = 0
  /** By id, because a block may be quoted many times. */
  const turnOfId = new Map<string, number>()
  const readLine = (token: string, words: string) => idOfLine(token, { projectId, words }, keyOf)
  const clean = (text: string) => {
    const { text: rest, ids } = withoutBlocks(text, readLine)
    for (const id of ids) turnOfId.set(id, turns)
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
  const recommended = Array.from(turnOfId, ([id, turn]) => ({ turn, id }))
    .toSorted((a, b) => a.turn - b.turn)
    .slice(-RECOMMENDED_MAX)
  return { request: { ...request, messages }, history: { turns, recommended } }
}

/** Resolves to the result of `work` if it comes in time, or else to `late`. */
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
