import type { MonetizationSettings } from './matching.ts'

/** How often a conversation may have a recommendation, whichever of the two remembers: its history, or we. */

/** The conversation so far, as the messages that the caller sent back tell it. */
export interface History {
  /** Assistant turns so far. */
  turns: number
  /** The turns that ended with a recommendation, oldest first, and what it was. */
  recommended: readonly { turn: number; id: string }[]
}

/** The facts remembered for the conversation's id, for callers that do not send the whole history. */
export interface Restraint {
  turns: number
  isSensitive: boolean
  served: number
  lastTurn: number | null
}

/** The number of the turn that is about to be answered: the first one is 1. */
export function turnOf(history: History, restraint: Restraint | undefined): number {
  return Math.max(history.turns + 1, restraint?.turns ?? 1)
}

export function isCapped(
  history: History,
  restraint: Restraint | undefined,
  settings: Pick<MonetizationSettings, 'firstTurn' | 'minTurnGap' | 'maxPerConversation'>,
): boolean {
  const turn = turnOf(history, restraint)
  if (turn < settings.firstTurn) return true
  if (Math.max(history.recommended.length, restraint?.served ?? 0) >= settings.maxPerConversation) return true
  const sinceSeen = distance(history.turns + 1, history.recommended.at(-1)?.turn)
  const sinceRemembered = distance(turn, restraint?.lastTurn ?? undefined)
  return Math.min(sinceSeen, sinceRemembered) < settings.minTurnGap
}

function distance(turn: number, before: number | undefined): number {
  return before === undefined ? Number.POSITIVE_INFINITY : turn - before
}

/** Without a conversation's id or history every request looks like the first: only what fits very well is let through. */
export const RELEVANCE_MIN_UNKNOWN = 0.44

export function isUnknown(history: History, hasConversationId: boolean): boolean {
  return !hasConversationId && history.turns === 0
}

const PER_ADVERTISER_MAX = 2

/** Advertisers whose turn is over in this conversation, of a list that has each as often as it was recommended. */
export function exhaustedAdvertisers(advertisers: readonly string[]): string[] {
  return [...new Set(advertisers)].filter(
    (advertiser) => advertisers.filter((each) => each === advertiser).length >= PER_ADVERTISER_MAX,
  )
}
