import type { AssistantMessage, Message } from '../../rules/calls/message.ts'
import type { ContentChunk, FinishReason, RecommendationChunk, ReplyChunk, Sponsored } from '../../rules/calls/chunk.ts'
import type { ParleyError } from '../../rules/errors.ts'
import { STATUS_CODES } from 'node:http'
import type { Model } from '../../rules/upstreams/routing.ts'
import { completionTokensOf, promptTokensOf, type Usage } from '../../rules/billing/usage.ts'

/** What callers see: the bodies and events of the public API, and nothing of what made them. */

export interface CompletionHead {
  id: string
  /** Unix seconds. */
  created: number
  model: string
  /** A stored answer, given again for a repeated Idempotency-Key. */
  isReplayed?: boolean
  /** Of the answer, beside those that every answer has. */
  headers?: Record<string, string>
}

/** Writes the events of one stream. The part that never changes is written once, because an answer has hundreds. */
export function createEventWriter(head: CompletionHead) {
  const { id, created, model } = head
  const start = `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1)}`
  const choice = (delta: object, finishReason: FinishReason | null, more: ChoiceExtras = {}) =>
    `${start},"choices":[{"index":0,"delta":${JSON.stringify(delta)}${
      more.logprobs === undefined ? '' : `,"logprobs":${JSON.stringify({ content: more.logprobs })}`
    },"finish_reason":${JSON.stringify(finishReason)}}]${
      more.sponsored === undefined ? '' : `,"sponsored":${JSON.stringify(more.sponsored)}`
    }}\n\n`
  return {
    opening: () => choice({ role: 'assistant', content: '' }, null),
    event(chunk: ReplyChunk): string {
      switch (chunk.type) {
        case 'finish':
          return choice({}, chunk.reason)
        case 'usage':
          return `${start},"choices":[],"usage":${JSON.stringify(usageBodyOf(chunk.usage))}}\n\n`
        case 'recommendation':
          return choice({ content: chunk.text }, null, { sponsored: chunk.sponsored })
        default:
          return choice(deltaOf(chunk), null, chunk.type === 'text' ? { logprobs: chunk.logprobs } : {})
      }
    },
    error(failure: ParleyError): string {
      const { message, type, code } = openAIErrorOf(failure)
      return `data: ${JSON.stringify({ error: { message, type, code } })}\n\n`
    },
    done: () => 'data: [DONE]\n\n',
  }
}

interface ChoiceExtras {
  sponsored?: Sponsored
  logprobs?: readonly unknown[] | undefined
}

function deltaOf(chunk: ContentChunk): object {
  switch (chunk.type) {
    case 'text':
      return { content: chunk.text }
    case 'refusal':
      return { refusal: chunk.text }
    case 'reasoning':
      return { reasoning_content: chunk.text }
    case 'reasoning_signature':
      return { reasoning_signature: chunk.signature }
    case 'tool_call': {
      const { index, id, name } = chunk
      const opening = id === undefined ? {} : { id, type: 'function' }
      return {
        tool_calls: [
          { index, ...opening, function: { ...(name === undefined ? {} : { name }), arguments: chunk.arguments } },
        ],
      }
    }
  }
}

interface ToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

/** Folds the chunks of an answer into one assistant message. `keepsLogprobs`: they are a kilobyte for each token. */
export function replyOf({ keepsLogprobs = false } = {}) {
  let text = ''
  let refusal = ''
  let reasoning = ''
  let signature: string | undefined
  const logprobs: unknown[] = []
  const toolCalls: ToolCall[] = []
  let sponsored: Sponsored | undefined
  return {
    add(chunk: ContentChunk | RecommendationChunk): void {
      if (chunk.type === 'text') {
        text += chunk.text
        if (keepsLogprobs && chunk.logprobs) logprobs.push(...chunk.logprobs)
      } else if (chunk.type === 'reasoning') reasoning += chunk.text
      else if (chunk.type === 'reasoning_signature') signature = chunk.signature
      else if (chunk.type === 'recommendation') {
        text += chunk.text
        sponsored = chunk.sponsored
      } else if (chunk.type === 'refusal') refusal += chunk.text
      else if (chunk.type === 'tool_call') {
        const call = (toolCalls[chunk.index] ??= { id: '', type: 'function', function: { name: '', arguments: '' } })
        call.id ||= chunk.id ?? ''
        call.function.name += chunk.name ?? ''
        call.function.arguments += chunk.arguments
      }
    },
    /** Whether it ends with a recommendation, and what that is. */
    get sponsored(): Sponsored | undefined {
      return sponsored
    },
    get logprobs(): readonly unknown[] | undefined {
      return logprobs.length === 0 ? undefined : logprobs
    },
    message(): AssistantMessage {
      const calls = toolCalls.filter(Boolean)
      return {
        role: 'assistant',
        content: text === '' && (calls.length > 0 || refusal !== '') ? null : text,
        ...(refusal === '' ? {} : { refusal }),
        ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
        ...(signature === undefined ? {} : { reasoning_signature: signature }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      }
    },
  }
}

export interface Completion {
  message: Message
  finishReason: FinishReason
  usage: Usage
  sponsored: Sponsored | undefined
  logprobs?: readonly unknown[] | undefined
}

export function completionBodyOf(head: CompletionHead, completion: Completion) {
  const { message, finishReason, usage, sponsored, logprobs } = completion
  const choice = {
    index: 0,
    message,
    ...(logprobs && { logprobs: { content: logprobs } }),
    finish_reason: finishReason,
  }
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: [{ ...choice, ...(sponsored === undefined ? {} : { sponsored }) }],
    usage: usageBodyOf(usage),
  }
}

function usageBodyOf(usage: Usage) {
  const prompt = promptTokensOf(usage)
  const completion = completionTokensOf(usage)
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(usage.cachedInput > 0 ? { prompt_tokens_details: { cached_tokens: usage.cachedInput } } : {}),
    ...(usage.reasoning > 0 ? { completion_tokens_details: { reasoning_tokens: usage.reasoning } } : {}),
  }
}

export function modelListOf(models: readonly Model[]) {
  return {
    object: 'list',
    data: models.map((model) => ({
      id: model.id,
      object: 'model',
      created: Math.floor(model.createdAt.getTime() / 1000),
      owned_by: model.ownedBy,
      ...(model.contextWindow === undefined ? {} : { context_window: model.contextWindow }),
      ...(model.maxOutputTokens === undefined ? {} : { max_output_tokens: model.maxOutputTokens }),
    })),
  }
}

/** `openai` is for the official SDKs, which show only `error.message`. */
export type ErrorFormat = 'plain' | 'openai'

export function errorBodyOf(error: ParleyError, format: ErrorFormat) {
  const { status: statusCode, message } = error
  return {
    statusCode,
    message,
    error: format === 'openai' ? openAIErrorOf(error) : (STATUS_CODES[statusCode] ?? 'Error'),
  }
}

function openAIErrorOf(error: ParleyError) {
  return { message: error.message, type: openAITypeOf(error), code: error.code, param: error.options.param ?? null }
}

function openAITypeOf({ status, code }: ParleyError): string {
  if (code.startsWith('credit_')) return 'insufficient_quota'
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'api_error' : 'invalid_request_error'
}
