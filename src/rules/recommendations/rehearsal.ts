import type { ChatRequest } from '../calls/chat-request.ts'
import type { Message } from '../calls/message.ts'
import { requestGate, turnsOf } from './gates.ts'
import type { Match, MonetizationSettings, NoRecommendation, Turn } from './matching.ts'

/**
 * A rehearsal: what replies that were given in the last weeks would have been recommended under, if monetization had been
 * on. Conversations are what the project keeps of them; of the calls themselves nothing is known but their messages.
 */

/** Told by a matcher that has other rehearsals to do. */
export const BUSY_REASONS = ['project_busy', 'matcher_busy'] as const
export type BusyReason = (typeof BUSY_REASONS)[number]

/** How many conversations a rehearsal looks at, newest first. */
export const REHEARSED_MAX = 10_000
/** For one conversation. Longer ones could not be judged in time in a real call either. */
export const REHEARSED_MESSAGES_MAX = 400
export const REHEARSED_BYTES_MAX = 64 * 1024

/** A message as it is kept. */
export interface KeptMessage {
  role: string
  /** Null: its text is not kept, or it is `beyond`. */
  content: object | null
  at: Date
  /** It stands after more text than is looked at. */
  isBeyond: boolean
}

/** A reply of a conversation, on its way to a matcher. */
export interface RehearsedReply {
  /** How many turns were before it; the next one is its text. */
  before: number
  /** The number of the reply in its conversation; the first one is 1. */
  turn: number
  /** Why its request can have none, by words alone. */
  gate: NoRecommendation | null
}

export interface RehearsedConversation {
  turns: readonly Turn[]
  replies: readonly RehearsedReply[]
}

/** The settings of a project that decide here. Amounts are text, because they go over a wire. */
export type RehearsalSettings = Pick<
  MonetizationSettings,
  'minRelevance' | 'firstTurn' | 'minTurnGap' | 'maxPerConversation'
> & {
  floorNanos: string
  blockedCategories: readonly string[]
  blockedAdvertisers: readonly string[]
  blockedDomains: readonly string[]
}

/** The outcome that a reply would have had. */
export type Verdict =
  | { outcome: NoRecommendation }
  | {
      outcome: 'matched'
      match: Match
      /** How far the conversation was on the way to being kept free for its topic, from 0 to 1. */
      nearSensitive: number
    }

export interface Readable extends RehearsedConversation {
  /** When each reply was given. */
  times: readonly Date[]
  /** Replies that cannot be judged, because something that was said before them is not kept. */
  unread: number
}

/** The replies since then, and all that was said. */
export function repliesIn(kept: readonly KeptMessage[], settings: MonetizationSettings, since: Date): Readable {
  const messages: Message[] = []
  const turns: Turn[] = []
  const replies: RehearsedReply[] = []
  const times: Date[] = []
  let answers = 0
  let unread = 0
  let isLost = false
  let isBeyond = false
  for (const { role, content, at, isBeyond: isAfter } of kept) {
    isBeyond ||= isAfter
    isLost ||= content === null && !isBeyond
    const message = content === null ? undefined : ({ role, ...content } as Message)
    const [said] = message ? turnsOf([message]) : []
    if (role === 'assistant') {
      answers += 1
      const isNew = at >= since
      if (isNew && isLost) unread += 1
      else if (isNew) {
        const gate = isBeyond ? 'too_long' : gateOf(messages, settings)
        replies.push({ before: turns.length, turn: answers, gate: gate ?? (said ? null : 'answer_shape') })
        times.push(at)
      }
    }
    if (isLost || isBeyond) continue
    if (message) messages.push(message)
    if (said) turns.push(said)
  }
  const needed = replies.reduce((most, { before, gate }) => (gate === null ? before + 1 : most), 0)
  return { turns: turns.slice(0, needed), replies, times, unread }
}

/** The fields of a call besides its messages are not kept: it is taken for a plain chat. */
function gateOf(messages: Message[], settings: MonetizationSettings): NoRecommendation | undefined {
  const request = { model: '', messages } as unknown as ChatRequest
  return requestGate({ request, body: undefined, header: undefined, settings })
}

export function settingsOfRehearsal(settings: MonetizationSettings): RehearsalSettings {
  const { minRelevance, firstTurn, minTurnGap, maxPerConversation, floorNanos } = settings
  const { blockedCategories, blockedAdvertisers, blockedDomains } = settings
  const caps = { minRelevance, firstTurn, minTurnGap, maxPerConversation }
  return { ...caps, floorNanos: floorNanos.toString(), blockedCategories, blockedAdvertisers, blockedDomains }
}
