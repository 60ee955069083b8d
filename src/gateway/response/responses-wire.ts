import { NO_USAGE, completionTokensOf, promptTokensOf, type Usage } from '../../rules/billing/usage.ts'
import type { FinishReason, ReplyChunk } from '../../rules/calls/chunk.ts'
import type { ResponsesRequest } from '../../rules/calls/responses/responses-request.ts'
import { CALL_ENDPOINTS } from '../../rules/endpoints.ts'
import type { ParleyError } from '../../rules/errors.ts'
import type { WriteEvent } from './responses-items.ts'
import { createOutput, type Output } from './responses-output.ts'
import { createRuns } from './runs.ts'
import type { AnswerHead, BodyWriter, EventWriter } from './wire.ts'

/** How responses are written: event by event, or as one body. */

type Asked = Pick<ResponsesRequest, 'echo' | 'showsReasoning' | 'showsSignature'>

/** Each event has its name beside its data, and there is no `[DONE]`: the last one says that it is. */
export function createResponsesEvents(head: AnswerHead, asked: Asked): EventWriter {
  let written = ''
  let sequence_number = 0
  const write: WriteEvent = (type, fields) => {
    written += `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence_number++, ...fields })}\n\n`
  }
  const taken = () => {
    const events = written
    written = ''
    return events
  }
  const answer = createAnswer(head, asked, write)
  return {
    opening() {
      write('response.created', { response: answer.response('in_progress') })
      write('response.in_progress', { response: answer.response('in_progress') })
      return taken()
    },
    event(chunk) {
      answer.add(chunk)
      return taken()
    },
    /** SDKs throw at the first of the two, and whoever reads the events alone waits for a last one of the response. */
    error(failure) {
      const { code, message, options } = failure
      write('error', { code, message, param: options.param ?? null })
      write('response.failed', { response: answer.failed(failure) })
      return taken()
    },
    /** Only now, for it says that the answer is whole, and that is charged for first. */
    done() {
      write(`response.${answer.status()}`, { response: answer.response(answer.status()) })
      return taken()
    },
  }
}

export function createResponsesBody(asked: Asked): BodyWriter {
  const runs = createRuns()
  return {
    add: (chunk) => runs.add(chunk),
    body(head) {
      const answer = createAnswer(head, asked, () => {})
      for (const chunk of runs.chunks()) answer.add(chunk)
      return answer.response(answer.status())
    },
  }
}

const INCOMPLETE_REASONS: Partial<Record<FinishReason, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
}

function createAnswer(head: AnswerHead, { echo, ...shown }: Asked, write: WriteEvent) {
  const output: Output = createOutput({ id: head.id.slice(CALL_ENDPOINTS.responses.idPrefix.length), ...shown }, write)
  let finishReason: FinishReason | undefined
  let usage: Usage = NO_USAGE

  function responseWith(status: string, error: object | null): object {
    const isOver = status === 'completed' || status === 'incomplete'
    const reason = status === 'incomplete' && finishReason ? INCOMPLETE_REASONS[finishReason] : undefined
    return {
      id: head.id,
      object: 'response',
      created_at: head.created,
      status,
      error,
      incomplete_details: reason === undefined ? null : { reason },
      model: head.model,
      output: output.items(),
      usage: isOver ? usageBodyOf(usage) : null,
      ...echo,
    }
  }

  return {
    add(chunk: ReplyChunk): void {
      if (chunk.type === 'finish') {
        finishReason = chunk.reason
        output.finish(chunk.reason)
      } else if (chunk.type === 'usage') usage = chunk.usage
      else output.add(chunk)
    },
    status: () => (finishReason && INCOMPLETE_REASONS[finishReason] ? 'incomplete' : 'completed'),
    response: (status: string) => responseWith(status, null),
    failed({ code, message }: ParleyError): object {
      output.abandon()
      const isLimit = code === 'provider_rate_limited'
      return responseWith('failed', { code: isLimit ? 'rate_limit_exceeded' : 'server_error', message })
    },
  }
}

function usageBodyOf(usage: Usage) {
  const input = promptTokensOf(usage)
  const output = completionTokensOf(usage)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cachedInput, cache_write_tokens: usage.cacheWrite },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + output,
  }
}
