import type { AssistantMessage } from '../../rules/calls/message.ts'
import type { ContentChunk, RecommendationChunk, Sponsored } from '../../rules/calls/chunk.ts'
import { createOrder } from './order.ts'

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
  const order = createOrder()
  return {
    add(chunk: ContentChunk | RecommendationChunk): void {
      order.add(chunk)
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
    sponsored: (): Sponsored | undefined => sponsored,
    logprobs: (): readonly unknown[] | undefined => (logprobs.length === 0 ? undefined : logprobs),
    message,
    /** As it is kept for retries. */
    stored: () => ({ message: message(), ...order.ifUnusual() }),
  }

  function message(): AssistantMessage {
    const calls = toolCalls.filter(Boolean)
    return {
      role: 'assistant',
      content: text === '' && (calls.length > 0 || refusal !== '') ? null : text,
      ...(refusal === '' ? {} : { refusal }),
      ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
      ...(signature === undefined ? {} : { reasoning_signature: signature }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    }
  }
}
