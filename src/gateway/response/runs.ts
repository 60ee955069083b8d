import type { ReplyChunk } from '../../rules/calls/chunk.ts'

type CallChunk = ReplyChunk & { type: 'tool_call' }

/** An answer in as few chunks as say the same: what follows each other in one breath is one, and so is a call of a tool. */
export function createRuns() {
  const runs: ReplyChunk[] = []
  const calls = new Map<number, CallChunk>()

  /** A call begins with its name: only then does a stream tell of it, too. */
  function addCall(chunk: CallChunk): void {
    const call = calls.get(chunk.index) ?? { ...chunk, id: undefined, name: '', arguments: '' }
    calls.set(chunk.index, call)
    const isNamed = Boolean(call.name)
    call.id ||= chunk.id
    call.name += chunk.name ?? ''
    call.arguments += chunk.arguments
    if (!isNamed && call.name !== '') runs.push(call)
  }

  return {
    add(chunk: ReplyChunk): void {
      const last = runs.at(-1)
      if (chunk.type === 'tool_call') addCall(chunk)
      else if (chunk.type === 'text' && last?.type === 'text') {
        last.text += chunk.text
        if (chunk.logprobs) last.logprobs = (last.logprobs ?? []).concat(chunk.logprobs)
      } else if (chunk.type === 'reasoning' && last?.type === 'reasoning') last.text += chunk.text
      else if (chunk.type === 'refusal' && last?.type === 'refusal') last.text += chunk.text
      else {
        if (chunk.type === 'finish') runs.push(...calls.values().filter(({ name }) => name === ''))
        runs.push({ ...chunk })
      }
    },
    chunks: (): readonly ReplyChunk[] => runs,
  }
}
