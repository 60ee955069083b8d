import { keyedDigest } from '../keyed-digest.ts'
import { withoutMedia } from '../inline-media.ts'
import { asSaid, type Message } from './message.ts'
import { allAtOnce } from '../steps.ts'

const CONVERSATION_ID = /^[A-Za-z0-9._:-]{1,128}$/

export function isConversationId(text: string): boolean {
  return CONVERSATION_ID.test(text)
}

/** A message as it is kept: its digest, and which occurrence of the same role and content in this conversation it is. */
export interface SeenMessage {
  digest: Buffer
  occurrence: number
  message: Message
}

/**
 * Numbers equal messages of one request: the second "yes" is another message than the first. Stored under
 * (digest, occurrence), a history that is sent again adds nothing, whether it is sent whole or with its start cut off.
 * The digest is keyed, so that it reveals nothing to who reads the database. It is of the message as it was sent, also where
 * less is kept of it (see `withoutMedia`).
 */
export function numberOccurrences(messages: readonly Message[], digestKey: Uint8Array): SeenMessage[] {
  return allAtOnce(numberInSteps(messages, digestKey))
}

/** The same, so that others can have a turn between its steps. The longest one is to write a message of 8 MB as JSON: 15 ms. */
export function* numberInSteps(messages: readonly Message[], digestKey: Uint8Array): Generator<void, SeenMessage[]> {
  const counts = new Map<string, number>()
  const seen: SeenMessage[] = []
  for (const sent of messages) {
    const message = asSaid(sent)
    // Beside tool calls some clients send no content, others null or an empty text: it is the same message.
    const { role, content, ...rest } = message
    const text = JSON.stringify([role, content ?? '', rest])
    yield
    const digest = keyedDigest(digestKey).update(text).digest().subarray(0, 16)
    yield
    const key = digest.toString('latin1')
    const occurrence = (counts.get(key) ?? 0) + 1
    counts.set(key, occurrence)
    seen.push({ digest, occurrence, message: withoutMedia(message) })
    yield
  }
  return seen
}

/** Decides how much of a turn is kept, by the bytes that its project has stored on that day. */
export type Kept = 'text' | 'digests' | 'count'

/** Beyond the day's budget a message is kept without its text, and a quarter later a turn is only counted. */
export function keptOf(bytesToday: number, bytesPerDay: number): Kept {
  if (bytesToday < bytesPerDay) return 'text'
  return bytesToday < bytesPerDay * 1.25 ? 'digests' : 'count'
}
