import type { Message } from './message.ts'
import { keyedDigest } from '../keyed-digest.ts'

const CONVERSATION_ID = /^[A-Za-z0-9._:-]{1,128}$/

export function isConversationId(text: string): boolean {
  return CONVERSATION_ID.test(text)
}

/** A message as it is stored: its digest, and which occurrence of the same role and content in this conversation it is. */
export interface SeenMessage {
  digest: Buffer
  occurrence: number
  message: Message
}

/**
 * Numbers equal messages of one request: the second "yes" is another message than the first. Stored under
 * (digest, occurrence), a history that is sent again adds nothing, whether it is sent whole or with its start cut off.
 * The digest is keyed, so that it reveals nothing to who reads the database.
 */
export function numberOccurrences(messages: readonly Message[], digestKey: Uint8Array): SeenMessage[] {
  const counts = new Map<string, number>()
  return messages.map((message) => {
    // Beside tool calls some clients send no content, others null or an empty text: it is the same message.
    const { role, content, ...rest } = message
    const text = JSON.stringify([role, content ?? '', rest])
    const digest = keyedDigest(digestKey).update(text).digest().subarray(0, 16)
    const key = digest.toString('latin1')
    const occurrence = (counts.get(key) ?? 0) + 1
    counts.set(key, occurrence)
    return { digest, occurrence, message }
  })
}
