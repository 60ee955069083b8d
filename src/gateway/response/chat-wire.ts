import { NO_USAGE, completionTokensOf, promptTokensOf, type Usage } from '../../rules/billing/usage.ts'
import type { ContentChunk, FinishReason, ReplyChunk, Sponsored } from '../../rules/calls/chunk.ts'
import type { ParleyError } from '../../rules/errors.ts'
import { replyOf } from './reply.ts'
import { openAIErrorOf, type AnswerHead, type BodyWriter, type EventWriter } from './wire.ts'

/** How chat completions are written: event by event, or as one body. */

/** Writes the events of one completion. The part that never changes is written once, because an answer has hundreds. */
export function createChatEvents(head: AnswerHead, { includeUsage = false } = {}): EventWriter {
  const { id, created, model } = head
  const start = `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1)}`
  const choice = (delta: object, finishReason: FinishReason | null, more: ChoiceExtras = {}) =>
    `${start},"choices":[{"index":0,"delta":${JSON.stringify(delta)}${
      more.logprobs === undefined ? '' : `,"logprobs":${JSON.stringify({ content: more.logprobs })}`
    },"finish_reason":${JSON.stringify(finishReason)}}]${
      more.sponsored === undefined ? '' : `,"sponsored":${JSON.stringify(more.sponsored)}`
    }}\n\n`
  const textStart = `${start},"choices":[{"index":0,"delta":{"content":`
  return {
    opening: () => choice({ role: 'assistant', content: '' }, null),
    event(chunk: ReplyChunk): string {
      switch (chunk.type) {
        case 'finish':
          return choice({}, chunk.reason)
        case 'usage':
          if (!includeUsage) return ''
          return `${start},"choices":[],"usage":${JSON.stringify(usageBodyOf(chunk.usage))}}\n\n`
        case 'recommendation':
          return choice({ content: chunk.text }, null, { sponsored: chunk.sponsored })
        case 'text':
          if (chunk.logprobs) return choice({ content: chunk.text }, null, { logprobs: chunk.logprobs })
          // Nearly all of an answer: it is made of as few pieces as can be.
          return `${textStart}${JSON.stringify(chunk.text)}},"finish_reason":null}]}\n\n`
        default:
          return choice(deltaOf(chunk), null)
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
    case 'embedding':
      return {}
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

/** Folds the chunks of a completion into its body. */
export function createChatBody(): BodyWriter {
  const reply = replyOf({ keepsLogprobs: true })
  let finishReason: FinishReason = 'stop'
  let usage = NO_USAGE
  return {
    add(chunk) {
      if (chunk.type === 'finish') finishReason = chunk.reason
      else if (chunk.type === 'usage') usage = chunk.usage
      else reply.add(chunk)
    },
    body({ id, created, model }) {
      const [sponsored, logprobs] = [reply.sponsored(), reply.logprobs()]
      const choice = {
        index: 0,
        message: reply.message(),
        ...(logprobs && { logprobs: { content: logprobs } }),
        finish_reason: finishReason,
        ...(sponsored && { sponsored }),
      }
      return { id, object: 'chat.completion', created, model, choices: [choice], usage: usageBodyOf(usage) }
    },
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
