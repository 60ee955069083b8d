import { parseJson } from '../platform/json.ts'
import type { AssistantMessage, Message } from '../rules/calls/message.ts'
import { fieldsIn } from '../rules/record.ts'

/**
 * The proofs that some providers give with a model's thoughts and want back with the results of its tools. Callers carry them
 * in one opaque field, `reasoning_signature`; whose they are stands at its beginning, so that no other provider gets them.
 */

/** A proof and how many characters of the thoughts it is for, in order; or thoughts that came encrypted. */
type SignedThought = { characters: number; signature: string } | { redacted: string }

/** Thoughts as they were, to be sent back. */
export type Thought = { text: string; signature: string } | { redacted: string }

export function signatureOf(format: string, content: unknown): string {
  return `${format}.${Buffer.from(JSON.stringify(content)).toString('base64url')}`
}

/** More than any answer has: callers can write what they like, and parsing a megabyte of brackets would hold up everybody. */
const LIMITS = { depthMax: 3, keysMax: 600, itemsMax: 300 }

/** Undefined for another provider's, and for what is none at all. */
export function signedContentOf(format: string, { reasoning_signature: signature }: AssistantMessage): unknown {
  if (!signature?.startsWith(`${format}.`)) return undefined
  try {
    return parseJson(Buffer.from(signature.slice(format.length + 1), 'base64url'), LIMITS)
  } catch {
    return undefined
  }
}

/** Empty where the text is not the one that was signed: half a proof is refused. */
export function thoughtsOf(format: string, message: AssistantMessage): Thought[] {
  const content = signedContentOf(format, message)
  const signed = Array.isArray(content) && content.every(isSignedThought) ? content : []
  const text = message.reasoning_content ?? ''
  const thoughts: Thought[] = []
  let from = 0
  for (const thought of signed) {
    if ('redacted' in thought) thoughts.push(thought)
    else {
      const { characters, signature } = thought
      thoughts.push({ text: text.slice(from, from + characters), signature })
      from += characters
    }
  }
  return from === text.length ? thoughts : []
}

/** By hand, because callers can write what they like into the field: the first wrong item ends it. */
function isSignedThought(value: unknown): value is SignedThought {
  const { characters, signature, redacted } = fieldsIn(value)
  if (typeof redacted === 'string') return true
  return Number.isSafeInteger(characters) && Number(characters) >= 0 && typeof signature === 'string'
}

/** Whether every answer that called the tools whose results have just come still has its thoughts. */
export function areThoughtsKept(format: string, messages: readonly Message[]): boolean {
  const lastUser = messages.findLastIndex(({ role }) => role === 'user')
  return messages
    .slice(lastUser + 1)
    .every((message) => message.role !== 'assistant' || thoughtsOf(format, message).length > 0)
}

/** Collects the proofs of an answer block by block, as they come. `key` tells the blocks apart. */
export function createSignedThoughts(format: string) {
  const blocks = new Map<unknown, { characters: number; signature: string; redacted: string }>()
  const at = (key: unknown) => {
    const block = blocks.get(key) ?? { characters: 0, signature: '', redacted: '' }
    blocks.set(key, block)
    return block
  }
  return {
    addText: (key: unknown, text: string) => void (at(key).characters += text.length),
    addSignature: (key: unknown, signature: string) => void (at(key).signature += signature),
    addRedacted: (key: unknown, data: string) => void (at(key).redacted += data),
    /** Undefined: nothing was signed, or not all of it. */
    signature(): string | undefined {
      const all = [...blocks.values()]
      const signed = all.map(({ characters, signature, redacted }): SignedThought =>
        redacted ? { redacted } : { characters, signature },
      )
      const isWhole = all.every(({ signature, redacted }) => signature !== '' || redacted !== '')
      return all.length === 0 || !isWhole ? undefined : signatureOf(format, signed)
    },
  }
}
