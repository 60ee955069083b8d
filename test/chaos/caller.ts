/** One call over a connection of its own, and exactly what came back. It never retries and never throws. */
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { chatBodyOf, chatEventsOf, responsesBodyOf } from '../support/responses-as-chat.ts'

export interface Question {
  port: number
  headers: Record<string, string>
  /** With `input`, it is for the endpoint of embeddings. */
  body: { stream?: boolean | undefined }
  /** The same, by way of the Responses API. */
  isResponse?: boolean
  /** The caller goes away after this time, or when it has seen so many events. */
  hangUp?: { afterMs?: number; afterEvents?: number }
  withinMs: number
}

export interface Answer {
  /**
   * complete  the whole answer: a JSON body with its usage, or a stream up to [DONE]
   * failed    an error event inside a stream
   * refused   an error status
   * broken    a success status, and then the connection ended early
   * silent    no status at all
   */
  end: 'complete' | 'failed' | 'refused' | 'broken' | 'silent'
  /** The caller itself ended it; otherwise something between it and the gateway did. */
  hungUp: boolean
  status?: number
  completionId?: string
  requestId?: string
  retryAfter?: string
  /** The stored answer of an earlier call with the same key. */
  isReplayed?: boolean
  text: string
  finishReason?: string
  usage?: { prompt_tokens: number; completion_tokens: number }
  errorCode?: string
  /** Why it is not complete, as far as the caller knows. */
  why?: string
}

interface Body {
  id?: string
  choices?: { message?: { content: string }; delta?: { content?: string }; finish_reason: string | null }[]
  /** An answer with vectors has no `completion_tokens`. */
  usage?: { prompt_tokens: number; completion_tokens?: number }
  error?: { code?: string }
}

export function ask(question: Question): Promise<Answer> {
  const answer: Answer = { end: 'silent', hungUp: false, text: '' }
  return new Promise((resolve) => {
    const call = httpRequest({
      host: '127.0.0.1',
      port: question.port,
      method: 'POST',
      path: pathOf(question),
      headers: { 'content-type': 'application/json', 'x-error-format': 'openai', ...question.headers },
      agent: false,
    })
    const timers = [setTimeout(() => leave(call, answer, 'gave up waiting'), question.withinMs)]
    const { afterMs } = question.hangUp ?? {}
    if (afterMs !== undefined) timers.push(setTimeout(() => leave(call, answer, 'hung up'), afterMs))
    call.on('response', (response) => read(call, response, question, answer))
    call.on('error', (error: NodeJS.ErrnoException) => (answer.why ??= error.code ?? error.message))
    call.on('close', () => {
      for (const timer of timers) clearTimeout(timer)
      resolve(answer)
    })
    call.end(JSON.stringify(question.isResponse ? responsesBodyOf(question.body) : question.body))
  })
}

function leave(call: ClientRequest, answer: Answer, why: string): void {
  if (answer.end === 'complete') return
  answer.hungUp = true
  answer.why = why
  call.destroy()
}

function read(call: ClientRequest, response: IncomingMessage, question: Question, answer: Answer): void {
  answer.status = response.statusCode
  answer.completionId = textOf(response.headers['x-completion-id'])
  answer.requestId = textOf(response.headers['x-request-id'])
  answer.retryAfter = textOf(response.headers['retry-after'])
  answer.isReplayed = response.headers['idempotent-replayed'] === 'true'
  answer.end = answer.status === 200 ? 'broken' : 'refused'
  let body = ''
  let events = 0
  const isStream = answer.status === 200 && question.body.stream === true
  response.setEncoding('utf8').on('data', (text: string) => {
    body += text
    if (!isStream) return
    const blocks = body.split('\n\n')
    body = blocks.pop() ?? ''
    for (const block of blocks) for (const data of dataIn(block, question)) readEvent(data, answer)
    events += blocks.length
    if (events >= (question.hangUp?.afterEvents ?? Infinity)) leave(call, answer, 'hung up')
  })
  response.on('error', (error: NodeJS.ErrnoException) => (answer.why ??= error.code ?? error.message))
  response.on('end', () => {
    if (!isStream && response.complete) readJson(question.isResponse ? chatBodyOf(body) : body, answer)
  })
}

function dataIn(block: string, { isResponse }: Question): string[] {
  if (isResponse) return chatEventsOf(block)
  const lines = block.split('\n').filter((line) => line.startsWith('data: '))
  return [lines.map((line) => line.slice('data: '.length)).join('\n')]
}

function readEvent(data: string, answer: Answer): void {
  if (data === '[DONE]') answer.end = 'complete'
  else if (data !== '') take(JSON.parse(data) as Body, answer)
}

function readJson(text: string, answer: Answer): void {
  const body = parsed(text)
  if (!body) {
    answer.why = 'the body is not JSON'
    return
  }
  take(body, answer)
  if (answer.status === 200 && body.usage) answer.end = 'complete'
}

function take(body: Body, answer: Answer): void {
  const [choice] = body.choices ?? []
  answer.completionId = body.id ?? answer.completionId
  answer.text += choice?.message?.content ?? choice?.delta?.content ?? ''
  answer.finishReason = choice?.finish_reason ?? answer.finishReason
  if (body.usage) answer.usage = { completion_tokens: 0, ...body.usage }
  if (!body.error) return
  answer.errorCode = body.error.code
  if (answer.status === 200) answer.end = 'failed'
}

function parsed(text: string): Body | undefined {
  try {
    return JSON.parse(text) as Body
  } catch {
    return undefined
  }
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header
}

function pathOf({ body, isResponse }: Question): string {
  if ('input' in body) return '/v1/embeddings'
  return isResponse ? '/v1/responses' : '/v1/chat/completions'
}
