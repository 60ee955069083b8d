/** Chunks as tests write them down. */
import type { Chunk, FinishReason } from '../../src/rules/calls/chunk.ts'
import { NO_USAGE, type Usage } from '../../src/rules/billing/usage.ts'

export function text(value: string): Chunk {
  return { type: 'text', text: value }
}

export function toolCall(index: number, fragment: string, id?: string, name?: string): Chunk {
  return { type: 'tool_call', index, id, name, arguments: fragment }
}

export function finish(reason: FinishReason): Chunk {
  return { type: 'finish', reason }
}

export function usage(input: number, output: number, more: Partial<Usage> = {}): Chunk {
  return { type: 'usage', usage: { ...NO_USAGE, input, output, ...more } }
}
