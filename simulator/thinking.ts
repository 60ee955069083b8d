/** How models are asked to think, and how they recognise their own thoughts when these come back with the results of tools. */
import { isRecord } from './record.ts'
import { Refusal } from './refusal.ts'

const SIGNED_BY = 'simulated '

/** Another one for each answer. */
export function signatureOf(answerId: string): string {
  return Buffer.from(`${SIGNED_BY}${answerId}`).toString('base64')
}

export function assertSigned(signature: unknown): void {
  const isOurs = typeof signature === 'string' && Buffer.from(signature, 'base64').toString().startsWith(SIGNED_BY)
  if (!isOurs) throw new Refusal(400, 'Invalid `signature` in `thinking` block')
}

/** The `thinking` of Claude's models, which has its place in two dialects. */
export function isThinkingAsked(thinking: unknown): boolean {
  return isRecord(thinking) && (thinking.type === 'enabled' || thinking.type === 'adaptive')
}

/** A turn, by the kinds of its blocks. */
export interface ThoughtfulTurn {
  readonly role: unknown
  readonly kinds: readonly string[]
}

const THOUGHTS = new Set(['thinking', 'redacted_thinking', 'reasoningContent'])
const RESULTS = new Set(['tool_result', 'toolResult'])

/** A model with a budget refuses the results of tools without the thoughts that led to the calls. */
export function checkThoughtsKept(thinking: unknown, turns: readonly ThoughtfulTurn[]): void {
  if (!isRecord(thinking) || thinking.type !== 'enabled') return
  const asked = turns.findLastIndex(({ role, kinds }) => role === 'user' && !kinds.every((kind) => RESULTS.has(kind)))
  const forgetful = turns
    .slice(asked + 1)
    .find(({ role, kinds }) => role === 'assistant' && !THOUGHTS.has(kinds[0] ?? ''))
  if (forgetful)
    throw new Refusal(400, `Expected \`thinking\` or \`redacted_thinking\`, but found \`${forgetful.kinds[0]}\``)
}
