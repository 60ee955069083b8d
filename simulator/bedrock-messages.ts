/** Converse's demands on a conversation. A request that the real one refuses must not pass here. */
import { isRecord } from './record.ts'
import { Refusal } from './refusal.ts'
import { assertSigned, checkThoughtsKept } from './thinking.ts'
import type { ThoughtfulTurn } from './thinking.ts'

type Message = { readonly role: string; readonly text: string }

interface Settings {
  readonly hasTools: boolean
  readonly thinking: unknown
}

export function messagesIn(messages: unknown, system: unknown, { hasTools, thinking }: Settings): Message[] {
  if (!Array.isArray(messages) || messages.length === 0) throw new Refusal(400, 'messages must not be empty')
  const turns: ThoughtfulTurn[] = []
  const read = messages.flatMap((message, at) => {
    const role = at % 2 === 0 ? 'user' : 'assistant'
    if (!isRecord(message) || message.role !== role) {
      throw new Refusal(400, 'roles must alternate between "user" and "assistant", and the first must be "user"')
    }
    const blocks = blocksIn(message.content)
    turns.push({ role, kinds: blocks.map((block) => Object.keys(block)[0] ?? '') })
    assertToolsOffered(blocks, hasTools)
    for (const { reasoningContent: thought } of blocks) assertThoughtSigned(thought)
    if (at > 0) assertCallsAnswered(blocksIn(messages[at - 1]?.content), blocks)
    return partsOf(role, blocks)
  })
  checkThoughtsKept(thinking, turns)
  const instructions = system === undefined ? [] : systemIn(system)
  return [...instructions, ...read]
}

type Block = Record<string, unknown>

function blocksIn(content: unknown): Block[] {
  if (!Array.isArray(content) || content.length === 0) throw new Refusal(400, 'content must not be empty')
  return content.map((block: unknown) => {
    if (!isRecord(block) || Object.keys(block).length !== 1) throw new Refusal(400, 'a block has exactly one member')
    if ('text' in block) textIn(block)
    return block
  })
}

function assertThoughtSigned(thought: unknown): void {
  if (isRecord(thought) && isRecord(thought.reasoningText)) assertSigned(thought.reasoningText.signature)
}

function textIn({ text }: Block): string {
  if (typeof text !== 'string' || text.trim() === '') throw new Refusal(400, 'the text field of a block is blank')
  return text
}

function systemIn(system: unknown): Message[] {
  if (!Array.isArray(system)) throw new Refusal(400, 'system must be a list of blocks')
  const texts = system.filter((block: unknown) => !isRecord(block) || block.cachePoint === undefined)
  return texts.map((block: unknown) => ({ role: 'system', text: textIn(isRecord(block) ? block : {}) }))
}

function assertToolsOffered(blocks: readonly Block[], hasTools: boolean): void {
  const needsTools = blocks.some((block) => 'toolUse' in block || 'toolResult' in block)
  if (needsTools && !hasTools) {
    throw new Refusal(400, 'toolConfig must be defined when using toolUse and toolResult content blocks')
  }
}

function assertCallsAnswered(before: readonly Block[], blocks: readonly Block[]): void {
  const calls = before.flatMap(({ toolUse }) => (isRecord(toolUse) ? [toolUse.toolUseId] : []))
  const results = blocks.flatMap(({ toolResult }) => (isRecord(toolResult) ? [toolResult.toolUseId] : []))
  const isAnswered = calls.length === results.length && calls.every((id) => results.includes(id))
  if (!isAnswered) throw new Refusal(400, 'each toolUse block must be followed by its toolResult block')
  if (calls.some((id) => typeof id !== 'string' || !/^[\w-]{1,64}$/.test(id))) {
    throw new Refusal(400, 'toolUseId does not match [a-zA-Z0-9_-]+')
  }
}

function partsOf(role: string, blocks: readonly Block[]): Message[] {
  const text = blocks.flatMap((block) => ('text' in block ? [textIn(block)] : [])).join('')
  const results = blocks.flatMap(({ toolResult }) => (isRecord(toolResult) ? [resultOf(toolResult)] : []))
  const said = text === '' ? [] : [{ role, text }]
  return [...results, ...said]
}

function resultOf({ content }: Block): Message {
  const texts = (Array.isArray(content) ? content : []).map((block: unknown) => textIn(isRecord(block) ? block : {}))
  return { role: 'tool', text: texts.join('') }
}
