/**
 * A chat by way of the Responses API: its request told as one there, and what came back told as the answer of a chat again, so
 * that one judge can hold both to one promise.
 */
import { fieldsIn } from '../../src/rules/record.ts'

interface ResponseBody {
  id: string
  model: string
  status: string
  output: { type: string; content?: { text?: string }[] }[]
  usage: { input_tokens: number; output_tokens: number; output_tokens_details: { reasoning_tokens: number } } | null
}

interface ResponseEvent {
  type: string
  delta?: string
  code?: string
  message?: string
  response?: ResponseBody
}

/** A body that is no response, such as a refusal, is the same in both. */
export function chatBodyOf(text: string): string {
  if (!text.includes('"object":"response"')) return text
  return JSON.stringify(bodyOf(JSON.parse(text) as ResponseBody))
}

function bodyOf(response: ResponseBody) {
  const { id, model, output } = response
  const content = output.flatMap((item) => (item.content ?? []).map((part) => part.text ?? '')).join('')
  const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: finishOf(response) }
  return { id, model, choices: [choice], usage: usageOf(response) }
}

function finishOf({ status }: ResponseBody): string {
  return status === 'completed' ? 'stop' : 'length'
}

function usageOf({ usage }: ResponseBody) {
  return {
    prompt_tokens: usage?.input_tokens,
    completion_tokens: usage?.output_tokens,
    completion_tokens_details: { reasoning_tokens: usage?.output_tokens_details.reasoning_tokens },
  }
}

/** The data of each event. Whatever stands where it should not becomes an event that no chat has. */
export function chatEventsOf(text: string): string[] {
  const events = text
    .split('\n\n')
    .map((event) => /^event: (\S+)\ndata: (.*)$/s.exec(event))
    .filter((match) => match !== null)
  return events.flatMap(([, name = '', data = '']) => {
    const event = JSON.parse(data) as ResponseEvent
    if (event.type !== name) return [`an event named ${name} says ${event.type}`]
    return chunksOf(event).map((chunk) => (typeof chunk === 'string' ? chunk : JSON.stringify(chunk)))
  })
}

function chunksOf({ type, delta, code, message, response }: ResponseEvent): (object | string)[] {
  const chunk = (fields: object, finish: string | null) => {
    return { model: response?.model, choices: [{ delta: fields, finish_reason: finish }] }
  }
  switch (type) {
    case 'response.created':
      return [chunk({ role: 'assistant', content: '' }, null)]
    case 'response.output_text.delta':
      return [chunk({ content: delta }, null)]
    case 'error':
      return [{ error: { message, type: 'api_error', code } }]
    case 'response.failed':
      return response?.status === 'failed' ? [] : ['response.failed, which did not fail']
    case 'response.completed':
    case 'response.incomplete':
      if (!response) return [`${type} without a response`]
      return [chunk({}, finishOf(response)), { choices: [], usage: usageOf(response) }, '[DONE]']
    default:
      return []
  }
}

/** Fields with the same name and meaning. */
const SAME = new Set(['model', 'models', 'stream', 'temperature', 'top_p', 'parallel_tool_calls', 'metadata', 'user'])
/** Chat fields that ask for something that every response has anyway. */
const NEEDLESS = new Set(['stream_options'])

/** Undefined for a chat that cannot be asked for there. Thoughts are asked for, as a chat shows them unasked. */
export function responsesBodyOf(chat: Record<string, unknown>): Record<string, unknown> | undefined {
  const body: Record<string, unknown> = { reasoning: { summary: 'auto', effort: chat.reasoning_effort } }
  for (const [name, value] of Object.entries(chat)) {
    if (SAME.has(name)) body[name] = value
    else if (name === 'messages') body.input = (value as unknown[]).flatMap(itemsOf)
    else if (name === 'max_tokens' || name === 'max_completion_tokens') body.max_output_tokens = value
    else if (name === 'tools') body.tools = (value as unknown[]).map(toolOf)
    else if (name !== 'reasoning_effort' && !NEEDLESS.has(name)) return undefined
  }
  return body
}

function toolOf(tool: unknown): object {
  return { type: 'function', ...fieldsIn(fieldsIn(tool).function) }
}

function itemsOf(message: unknown): object[] {
  const { role, content, refusal, tool_calls: calls, tool_call_id: callId } = fieldsIn(message)
  if (role === 'tool') return [{ type: 'function_call_output', call_id: callId, output: content }]
  const parts = Array.isArray(content) ? content.map(partOf) : content
  if (role !== 'assistant') return [{ role, content: parts }]
  const said = refusal === undefined ? content : [{ type: 'refusal', refusal }]
  return [
    ...(said == null ? [] : [{ type: 'message', role, content: said }]),
    ...((calls ?? []) as { id: string; function: object }[]).map((call) => {
      return { type: 'function_call', call_id: call.id, ...call.function }
    }),
  ]
}

function partOf(part: unknown): object {
  const { type, text, image_url: image, file, input_audio } = fieldsIn(part)
  if (type === 'text') return { type: 'input_text', text }
  if (type === 'file') return { type: 'input_file', ...fieldsIn(file) }
  if (type === 'input_audio') return { type, input_audio }
  const { url, detail } = fieldsIn(image)
  return { type: 'input_image', image_url: url, detail }
}
