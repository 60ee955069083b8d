/** Where the marks for a cache stand in the bodies of Anthropic's Messages and Bedrock's Converse. */
import { anthropicTokensMin } from './caches.ts'
import type { CacheBlock, CachePlan } from './caches.ts'
import { isRecord } from './record.ts'
import { Refusal } from './refusal.ts'
import { tokensIn } from './reply.ts'

type Fields = Record<string, unknown>

const MARKS_MAX = 4
const TOKENS_PER_MESSAGE = 4

/** A model reads the tools first, then the system text, then what was said. Undefined: nothing is marked. */
export function messagesPlan(body: Fields, model: string): CachePlan | undefined {
  const blocks = [
    ...listOf(body.tools).map((tool) => blockOf(tool, 0)),
    ...blocksOf(body.system),
    ...listOf(body.messages).flatMap(({ role, content }) => blocksOf(content, String(role))),
  ]
  // The newer, shorter way to say it: a mark at the end.
  if (body.cache_control !== undefined) blocks.push({ ...(blocks.pop() as CacheBlock), isMarked: true })
  return planOf(blocks, model)
}

function blocksOf(content: unknown, role = 'system'): CacheBlock[] {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content)
  return blocks.map((block, at) => {
    const { content: written, tokens, isMarked } = blockOf(block, tokensOf(block))
    return { content: `${role} ${written}`, tokens: tokens + (at === 0 ? TOKENS_PER_MESSAGE : 0), isMarked }
  })
}

function blockOf({ cache_control: mark, ...content }: Fields, tokens: number): CacheBlock {
  const isEphemeral = isRecord(mark) && mark.type === 'ephemeral'
  if (mark !== undefined && !isEphemeral) throw new Refusal(400, 'cache_control.type: Input should be "ephemeral"')
  return { content: JSON.stringify(content), tokens, isMarked: isEphemeral }
}

/** A point is a block of its own there, and marks the one before it. */
export function conversePlan(body: Fields, model: string): CachePlan | undefined {
  const blocks: CacheBlock[] = []
  function add(role: string, content: unknown): void {
    let isFirst = true
    for (const block of listOf(content)) {
      if (block.cachePoint !== undefined) {
        assertCached(model)
        const before = blocks.pop()
        if (!before) throw new Refusal(400, 'a cachePoint must stand after something')
        blocks.push({ ...before, isMarked: true })
        continue
      }
      const tokens = role === 'tool' ? 0 : tokensOf(block) + (isFirst || role === 'system' ? TOKENS_PER_MESSAGE : 0)
      blocks.push({ content: `${role} ${JSON.stringify(block)}`, tokens, isMarked: false })
      isFirst = false
    }
  }
  add('tool', isRecord(body.toolConfig) ? body.toolConfig.tools : undefined)
  add('system', body.system)
  for (const { role, content } of listOf(body.messages)) add(String(role), content)
  return planOf(blocks, model)
}

function assertCached(model: string): void {
  if (/\banthropic\.claude-(3-7|3-5-haiku|[a-z]+-\d)|\bamazon\.nova/.test(model)) return
  throw new Refusal(403, 'You invoked an unsupported model or your request did not allow prompt caching.')
}

function planOf(blocks: readonly CacheBlock[], model: string): CachePlan | undefined {
  const marks = blocks.filter(({ isMarked }) => isMarked).length
  if (marks > MARKS_MAX)
    throw new Refusal(400, `A maximum of ${MARKS_MAX} blocks with cache_control may be provided. Found ${marks}.`)
  return marks === 0 ? undefined : { kind: 'marked', tokensMin: anthropicTokensMin(model), blocks }
}

function tokensOf(block: Fields): number {
  const result = isRecord(block.toolResult) ? block.toolResult.content : block.content
  const nested = typeof result === 'string' ? tokensIn(result) : 0
  const parts = listOf(result).reduce((sum, part) => sum + tokensOf(part), nested)
  return parts + (typeof block.text === 'string' ? tokensIn(block.text) : 0)
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}
