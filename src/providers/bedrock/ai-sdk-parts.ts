import type { Usage } from '../../rules/billing/usage.ts'
import type { Chunk, FinishChunk } from '../../rules/calls/chunk.ts'
import { finishOf, isBlockedOutput, kindOfErrorEvent, oddFinish, type Endings } from '../endings.ts'
import { UpstreamError } from '../provider.ts'
import { createSignedThoughts } from '../reasoning-signature.ts'
import { SIGNED_BY, type LanguageModel } from './ai-sdk-request.ts'

type Parts = Awaited<ReturnType<LanguageModel['doStream']>>['stream']
/** A part of an answer, as a provider package reads it. */
export type StreamPart = Parts extends ReadableStream<infer Part> ? Part : never

/** Turns the parts of a stream, in order, into chunks. The finish is given out last, when the stream has ended. */
export function createReader(endings: Endings): { read(part: StreamPart): Chunk[]; end(): Chunk[] } {
  const calls = createCalls()
  const thoughts = createSignedThoughts(SIGNED_BY)
  let last: Extract<StreamPart, { type: 'finish' }> | undefined
  let blocked: FinishChunk | undefined
  let hasBegun = false

  /** An answer that is blocked midway was written, and has ended: the part that was already passed on remains. */
  function readError(error: unknown): Chunk[] {
    if (isMalformed(error)) throw new UpstreamError('bad_event')
    const { message, statusCode } = Object(error) as { message?: unknown; statusCode?: unknown }
    if (!hasBegun || !isBlockedOutput(message)) throw new UpstreamError(kindOfErrorEvent(statusCode))
    blocked = oddFinish('content_filter', 'output_blocked')
    return []
  }

  function chunksOf(part: StreamPart): Chunk[] {
    switch (part.type) {
      case 'text-delta':
        return part.delta === '' ? [] : [{ type: 'text', text: part.delta }]
      case 'reasoning-start':
      case 'reasoning-end':
        noteSignature(part, thoughts)
        return []
      case 'reasoning-delta':
        thoughts.addText(part.id, part.delta)
        noteSignature(part, thoughts)
        return part.delta === '' ? [] : [{ type: 'reasoning', text: part.delta }]
      case 'tool-input-start':
        return calls.start(part.id, part.toolName)
      case 'tool-input-delta':
        return calls.goOn(part.id, part.delta)
      case 'tool-call':
        return calls.whole(part.toolCallId, part.toolName, part.input)
      case 'error':
        return readError(part.error)
      case 'finish':
        last = part
        return []
      default:
        return []
    }
  }

  return {
    read(part) {
      const chunks = chunksOf(part)
      hasBegun ||= chunks.length > 0
      return chunks
    },
    end() {
      if (!last) throw new UpstreamError('truncated')
      const signature = thoughts.signature()
      const end: Chunk[] = signature === undefined ? [] : [{ type: 'reasoning_signature', signature }]
      end.push(blocked ?? finishIn(last.finishReason, endings))
      const usage = usageFromAiSdk(last.usage)
      return usage ? [...end, { type: 'usage', usage }] : end
    },
  }
}

/** The calls of one answer, by the package's ids. */
function createCalls() {
  const calls = new Map<string, { index: number; hasArguments: boolean }>()

  function start(id: string, name: string): Chunk[] {
    const index = calls.size
    if (calls.has(id)) throw new UpstreamError('bad_event')
    calls.set(id, { index, hasArguments: false })
    return [{ type: 'tool_call', index, id, name, arguments: '' }]
  }

  function goOn(id: string, fragment: string): Chunk[] {
    const call = calls.get(id)
    if (!call) throw new UpstreamError('bad_event')
    if (fragment === '') return []
    call.hasArguments = true
    return [{ type: 'tool_call', index: call.index, id: undefined, name: undefined, arguments: fragment }]
  }

  return {
    start,
    goOn,
    /** The whole call, once more or for the first time. Without arguments it comes without fragments. */
    whole(id: string, name: string, input: string): Chunk[] {
      const opening = calls.has(id) ? [] : start(id, name)
      return calls.get(id)?.hasArguments ? opening : [...opening, ...goOn(id, input)]
    },
  }
}

interface Signed {
  id: string
  providerMetadata?: Record<string, Record<string, unknown>>
}

function noteSignature({ id, providerMetadata }: Signed, thoughts: ReturnType<typeof createSignedThoughts>): void {
  const { signature, redactedContent } = providerMetadata?.amazonBedrock ?? {}
  if (typeof signature === 'string') thoughts.addSignature(id, signature)
  if (typeof redactedContent === 'string') thoughts.addRedacted(id, redactedContent)
}

/** The package could not read an event, as opposed to one that tells of an error. */
function isMalformed(error: unknown): boolean {
  return error instanceof Error && /^AI_(?:JSONParseError|TypeValidationError)$/.test(error.name)
}

type Finish = Extract<StreamPart, { type: 'finish' }>

function finishIn({ unified, raw }: Finish['finishReason'], endings: Endings): FinishChunk {
  switch (unified) {
    case 'stop':
    case 'length':
      return { type: 'finish', reason: unified }
    case 'content-filter':
      return { type: 'finish', reason: 'content_filter' }
    case 'tool-calls':
      return { type: 'finish', reason: 'tool_calls' }
    case 'error':
      throw new UpstreamError('error_in_200')
    default:
      // A package makes up a finish where none came.
      if (raw === undefined) throw new UpstreamError('truncated')
      return finishOf(raw, endings)
  }
}

function usageFromAiSdk({ inputTokens, outputTokens }: Finish['usage']): Usage | undefined {
  if (inputTokens.total === undefined && outputTokens.total === undefined) return undefined
  const cachedInput = inputTokens.cacheRead ?? 0
  const cacheWrite = inputTokens.cacheWrite ?? 0
  const reasoning = outputTokens.reasoning ?? 0
  return {
    // A missing count becomes NaN, which no plausibility check lets through.
    input: (inputTokens.total ?? Number.NaN) - cachedInput - cacheWrite,
    cachedInput,
    cacheWrite,
    output: (outputTokens.total ?? Number.NaN) - reasoning,
    reasoning,
  }
}
