import { z } from 'zod'
import type { Chunk, ContentChunk, FinishChunk } from '../../rules/calls/chunk.ts'
import type { Usage } from '../../rules/billing/usage.ts'
import { areTexts } from '../../rules/calls/embeddings-request.ts'
import { fieldsIn, isRecord } from '../../rules/record.ts'
import { finishOf, GEMINI_ENDINGS, GEMINI_UNUSABLE_CALLS, kindOfErrorEvent } from '../endings.ts'
import { withExtra } from '../extra-body.ts'
import { embedInBatches } from './gemini-embeddings.ts'
import { cannotHonour, requestBodyOf } from './gemini-request.ts'
import { SIGNED_BY } from './gemini-turns.ts'
import { UpstreamError, type Provider, type UpstreamErrorKind } from '../provider.ts'
import { jsonIn, readEvents, type EventReader } from '../read-events.ts'
import { signatureOf } from '../reasoning-signature.ts'
import type { Transport } from '../transport.ts'
import { countOf, createUsageSoFar } from '../reported-usage.ts'

export interface GeminiOptions {
  name: string
  /** Up to and including the version: `https://generativelanguage.googleapis.com/v1beta`. */
  baseUrl: string
  settings: unknown
  transport: Transport
}

const geminiSettings = z.strictObject({
  headers: z.record(z.string(), z.string()).optional(),
  safetySettings: z.array(z.strictObject({ category: z.string(), threshold: z.string() })).optional(),
  readsAudio: z.boolean().default(false),
})

export function createGemini(options: GeminiOptions): Provider {
  const { headers, safetySettings, readsAudio } = geminiSettings.parse(options.settings ?? {})
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  return {
    name: options.name,
    cannotHonour: (request, upstreamModel) => cannotHonour(request, upstreamModel, { readsAudio }),
    stream({ request, upstreamModel, apiKey, timers, onSent, extraBody }, signal) {
      const exchange = {
        url: `${baseUrl}/${modelPathOf(upstreamModel)}:streamGenerateContent?alt=sse`,
        // Google also takes the key in the address, where every proxy on the way would log it.
        headers: { ...headers, ...(apiKey !== undefined && { 'x-goog-api-key': apiKey }) },
        body: JSON.stringify(
          withExtra(requestBodyOf(request, { upstreamModel, hasCallIds: true, safetySettings }), extraBody),
        ),
        timers,
        onSent,
        kindOfRefusal,
      }
      return readEvents(options.transport, exchange, createReader(), signal)
    },
    cannotEmbed: ({ inputs }) => (areTexts(inputs) ? undefined : 'token_ids'),
    embed({ upstreamModel, apiKey, ...call }, signal) {
      const path = modelPathOf(upstreamModel)
      const to = {
        url: `${baseUrl}/${path}:batchEmbedContents`,
        headers: { ...headers, ...(apiKey !== undefined && { 'x-goog-api-key': apiKey }) },
        kindOfRefusal,
      }
      return embedInBatches(options.transport, to, { ...call, path }, signal)
    },
  }
}

/** A name with a slash says itself what it is: `tunedModels/mine`. */
function modelPathOf(upstreamModel: string): string {
  const path = upstreamModel.split('/').map(encodeURIComponent).join('/')
  return upstreamModel.includes('/') ? path : `models/${path}`
}

/** A wrong key is a 400 here. Only Google's own words count: its message may quote the caller. */
export function kindOfRefusal(status: number, body: string): UpstreamErrorKind | undefined {
  if (status !== 400) return undefined
  let refusal: unknown
  try {
    refusal = JSON.parse(body)
  } catch {
    return undefined
  }
  const { error } = fieldsIn(Array.isArray(refusal) ? refusal[0] : refusal)
  const { details } = fieldsIn(error)
  if (!Array.isArray(details)) return undefined
  return details.some((detail) => fieldsIn(detail).reason === 'API_KEY_INVALID') ? 'key_rejected' : undefined
}

/**
 * There is no end marker: the answer is whole if a reason to finish was given and the body has ended, which is when `end`
 * is called and gives out the finish and the usage.
 *
 * What is not content is read by hand: checking each event against a schema would cost more than parsing it.
 */
export function createReader(): EventReader {
  let finish: FinishChunk | undefined
  let usage: Fields | undefined
  let responseId: unknown
  let hasOutput = false
  let hasBegun = false
  /** Calls that came together with the word that nobody can use them. */
  let held: Chunk[] = []
  const callIds = new Set<string>()
  const signatures: Record<string, string> = {}
  const soFar = createUsageSoFar()

  /** Whether the model's answer is of no use, and nothing of it was passed on: another try may be better. */
  function isUseless(): boolean {
    return !hasBegun && GEMINI_UNUSABLE_CALLS.has(finish?.odd) && held.every(({ type }) => type === 'tool_call')
  }

  function chunkOf(part: Fields): ContentChunk | undefined {
    if (part.functionCall != null) return callOf(part.functionCall, callIds, responseId)
    // Images and code have no place in a chat completion.
    if (part.text == null) return undefined
    if (typeof part.text !== 'string') throw new UpstreamError('bad_event')
    return part.text === '' ? undefined : { type: part.thought === true ? 'reasoning' : 'text', text: part.text }
  }

  return {
    read(data) {
      const event = parseEvent(data)
      if (isRecord(event.usageMetadata)) usage = event.usageMetadata
      responseId ??= event.responseId
      const candidate = candidateIn(event.candidates)
      if (!candidate) {
        // A prompt that may not be answered. Another deployment would be a way around the filter, so this is the answer.
        if (typeof recordOf(event.promptFeedback ?? {}).blockReason === 'string')
          finish = { type: 'finish', reason: 'content_filter' }
        return []
      }
      if (candidate.finishReason != null) finish = finishIn(candidate.finishReason)
      for (const part of partsIn(candidate.content)) {
        const { thoughtSignature: signature } = recordOf(part)
        const chunk = chunkOf(recordOf(part))
        // For the text, the last one counts: it may come on a part that is otherwise empty.
        if (typeof signature === 'string') signatures[chunk?.type === 'tool_call' ? chunk.index : 'text'] = signature
        if (!chunk) continue
        hasOutput ||= chunk.type !== 'reasoning'
        held.push(chunk)
      }
      if (isUseless()) return []
      const chunks = held
      held = []
      hasBegun ||= chunks.length > 0
      return soFar.after(chunks, usage && usageFromGemini(usage, false))
    },
    end() {
      if (finish === undefined) throw new UpstreamError('truncated')
      const reason = finish.reason === 'stop' && callIds.size > 0 ? 'tool_calls' : finish.reason
      const end: Chunk[] = [...held]
      if (hasOutput && Object.keys(signatures).length > 0)
        end.push({ type: 'reasoning_signature', signature: signatureOf(SIGNED_BY, signatures) })
      end.push({ ...finish, reason })
      if (usage) end.push({ type: 'usage', usage: usageFromGemini(usage, hasOutput) })
      if (isUseless()) throw new UpstreamError('model_failed', { answerAsIs: end })
      return end
    },
    isLast: () => false,
  }
}

type Fields = Record<string, unknown>

function isRecordOrAbsent(value: unknown): value is Fields | null | undefined {
  return value == null || isRecord(value)
}

function recordOf(value: unknown): Fields {
  if (!isRecord(value)) throw new UpstreamError('bad_event')
  return value
}

function parseEvent(data: string): Fields {
  const fields = recordOf(jsonIn(data))
  if (fields.error != null) throw new UpstreamError(kindOfErrorEvent(fieldsIn(fields.error).code))
  return fields
}

function candidateIn(candidates: unknown): Fields | undefined {
  if (candidates == null) return undefined
  if (!Array.isArray(candidates)) throw new UpstreamError('bad_event')
  return candidates.map(recordOf).find((candidate) => (candidate.index ?? 0) === 0)
}

function partsIn(content: unknown): unknown[] {
  if (content == null) return []
  const { parts } = recordOf(content)
  if (parts == null) return []
  if (!Array.isArray(parts)) throw new UpstreamError('bad_event')
  return parts
}

/** A call comes whole. `callIds` are those of the calls before it in the same answer. */
function callOf(call: unknown, callIds: Set<string>, responseId: unknown): ContentChunk {
  const { id, name, args } = recordOf(call)
  if (typeof name !== 'string' || !isRecordOrAbsent(args)) throw new UpstreamError('bad_event')
  const index = callIds.size
  // Older models name no id. It must differ from those of earlier answers, because callers send them all back.
  const answer = typeof responseId === 'string' && /^[\w-]{1,64}$/.test(responseId) ? `${responseId}_` : ''
  const isNamed = typeof id === 'string' && id !== '' && !callIds.has(id)
  const callId = isNamed ? id : `call_${answer}${index}`
  if (callIds.has(callId)) throw new UpstreamError('bad_event')
  callIds.add(callId)
  return { type: 'tool_call', index, id: callId, name, arguments: jsonOf(args ?? {}) }
}

/** Arguments that JSON.parse reads may be too deep for JSON.stringify. */
function jsonOf(args: Fields): string {
  try {
    return JSON.stringify(args)
  } catch {
    throw new UpstreamError('bad_event')
  }
}

function finishIn(reason: unknown): FinishChunk {
  if (typeof reason !== 'string') throw new UpstreamError('bad_event')
  return finishOf(reason, GEMINI_ENDINGS)
}

/**
 * Each event reports the whole answer so far. Their prompt includes what was cached but not what tools fed back to the
 * model; their candidates exclude thoughts. A zero is left out of their JSON, which for the visible answer is believed
 * only if there was none.
 */
function usageFromGemini(reported: Fields, hasOutput: boolean): Usage {
  const cachedInput = countOf(reported.cachedContentTokenCount ?? 0)
  return {
    input: countOf(reported.promptTokenCount) + countOf(reported.toolUsePromptTokenCount ?? 0) - cachedInput,
    cachedInput,
    cacheWrite: 0,
    output: countOf(reported.candidatesTokenCount ?? (hasOutput ? undefined : 0)),
    reasoning: countOf(reported.thoughtsTokenCount ?? 0),
  }
}
