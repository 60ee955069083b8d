/** The caches of prompts, by the rules that the providers publish. In memory; each belongs to one key and one model. */
import { createHash } from 'node:crypto'
import { tokenIdsIn } from './reply.ts'

/** How a request may use a cache. */
export type CachePlan =
  | {
      /** OpenAI, Google: any prompt that is long enough, in whole steps. */
      readonly kind: 'automatic'
      readonly tokensMin: number
      readonly messages: readonly { readonly role: string; readonly text: string }[]
      /** Requests that differ in it come to different caches. */
      readonly routedBy: string
    }
  | {
      /** Anthropic, Bedrock: up to marks, and nothing without them. */
      readonly kind: 'marked'
      readonly tokensMin: number
      readonly blocks: readonly CacheBlock[]
    }

export interface CacheBlock {
  /** All that must be equal. */
  readonly content: string
  readonly tokens: number
  readonly isMarked: boolean
}

export interface CacheUse {
  readonly cached: number
  readonly written: number
}

export interface Caches {
  use(plan: CachePlan | undefined, account: string): CacheUse
  clear(): void
}

/** No provider caches less. */
export const CACHED_TOKENS_MIN = 1_024
export const NOT_CACHED: CacheUse = { cached: 0, written: 0 }

const STEP_TOKENS = 128
/** Renewed by each use. */
const KEPT_MS = 5 * 60_000
/** How many blocks before a mark an earlier one is found. */
const LOOK_BACK_BLOCKS = 20
const ENTRIES_MAX = 100_000
/** As `promptTokensOf` counts them. */
const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_PROMPT = 3

export function createCaches(now: () => number = () => performance.now()): Caches {
  const entries = new Map<string, number>()

  function has(key: string): boolean {
    return (entries.get(key) ?? -Infinity) > now()
  }

  function keep(key: string): void {
    entries.delete(key)
    entries.set(key, now() + KEPT_MS)
    const oldest = entries.keys().next().value
    if (entries.size > ENTRIES_MAX && oldest !== undefined) entries.delete(oldest)
  }

  /** Writing to this cache costs nothing, and is not reported. */
  function useAutomatic(plan: CachePlan & { kind: 'automatic' }, account: string): CacheUse {
    const tokens = tokensOf(plan)
    let cached = 0
    let prefix = `${account} ${plan.routedBy}`
    for (let end = STEP_TOKENS; end <= tokens.length; end += STEP_TOKENS) {
      prefix = digestOf(`${prefix} ${tokens.slice(end - STEP_TOKENS, end).join(' ')}`)
      if (end < plan.tokensMin) continue
      if (has(prefix)) cached = end
      keep(prefix)
    }
    return { cached, written: 0 }
  }

  function useMarked({ blocks, tokensMin }: CachePlan & { kind: 'marked' }, account: string): CacheUse {
    const prefixes: { key: string; tokens: number }[] = []
    for (const { content, tokens } of blocks) {
      const before = prefixes.at(-1) ?? { key: account, tokens: TOKENS_PER_PROMPT }
      prefixes.push({ key: digestOf(`${before.key} ${content}`), tokens: before.tokens + tokens })
    }
    const marks = prefixes.flatMap((_, at) => (blocks[at]?.isMarked ? [at] : []))
    const found = marks
      .flatMap((at) => prefixes.slice(Math.max(0, at - LOOK_BACK_BLOCKS), at + 1))
      .filter(({ key }) => has(key))
    const cached = Math.max(0, ...found.map(({ tokens }) => tokens))
    for (const { key } of found) keep(key)
    const toWrite = prefixes.filter(({ tokens }, at) => blocks[at]?.isMarked && tokens >= tokensMin)
    for (const { key } of toWrite) keep(key)
    return { cached, written: Math.max(0, ...toWrite.map(({ tokens }) => tokens - cached)) }
  }

  return {
    use(plan, account) {
      if (!plan) return NOT_CACHED
      return plan.kind === 'automatic' ? useAutomatic(plan, account) : useMarked(plan, account)
    },
    clear: () => entries.clear(),
  }
}

/** As many as `promptTokensOf` counts: what stands around a message is made of its role. */
function tokensOf({ messages }: CachePlan & { kind: 'automatic' }): (number | string)[] {
  const tokens: (number | string)[] = Array.from({ length: TOKENS_PER_PROMPT }, () => 'prompt')
  for (const { role, text } of messages) {
    for (let n = 0; n < TOKENS_PER_MESSAGE; n++) tokens.push(role)
    // Not spread into `push`: a long prompt has more tokens than a call may have arguments.
    for (const token of tokenIdsIn(text)) tokens.push(token)
  }
  return tokens
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}

/** Returns the fewest tokens that a model of Anthropic caches; the minima at Bedrock are the same. */
export function anthropicTokensMin(model: string): number {
  if (/opus-4-[56]|haiku-4-5/.test(model)) return 4_096
  return /opus-4-7|3-5-haiku|3-haiku/.test(model) ? 2_048 : CACHED_TOKENS_MIN
}
