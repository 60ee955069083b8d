import { complete, eventsOf, type World } from '../support/world.ts'
import type { Result } from '../faults/verdict.ts'
import { complaintsAbout, type Exchange } from './judge.ts'
import { HELLO, type AnswerPart, type Expected } from './row.ts'
import type { Cell } from './table.ts'

/** The bodies sent to the simulators, by their mark. */
export type Sent = Map<string, unknown[]>

/** Stands in a request where its mark will be. */
const MARK = '{mark}'
const MARKS = /<\d+>/

export function markIn(body: unknown): string {
  return MARKS.exec(JSON.stringify(body))?.[0] ?? ''
}

export function modelOf({ format, model }: Pick<Cell, 'format' | 'model'>): string {
  return `${format}/${model}`
}

let calls = 0

/** Tries one cell. It never throws: a cell that breaks is one that failed. */
export async function tryCell(world: World, sent: Sent, cell: Cell): Promise<Result> {
  try {
    const { exchange, expected } = await askFor(world, sent, cell)
    return { cell: cell.id, complaints: complaintsAbout(expected, exchange), seen: String(exchange.status) }
  } catch (error) {
    return { cell: cell.id, complaints: [String(error)], seen: 'crashed' }
  }
}

async function askFor(world: World, sent: Sent, cell: Cell): Promise<{ exchange: Exchange; expected: Expected }> {
  const mark = `<${calls++}>`
  const marked = <Value>(value: Value): Value => {
    // Not through JSON, which has no word for undefined: an undefined value says that nothing may be there.
    if (typeof value === 'string') return value.replaceAll(MARK, mark) as Value
    if (typeof value !== 'object' || value === null || value instanceof RegExp) return value
    if (Array.isArray(value)) return value.map(marked) as Value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, marked(inner)])) as Value
  }
  const request = marked({ messages: [HELLO], ...cell.tried.request, model: modelOf(cell), stream: cell.isStreamed })
  let answer = await ask(world, request)
  let before = 0
  if (cell.tried.isToolLoop) {
    const { message } = answer
    if (message?.tool_calls === undefined) throw new Error(`no tool was called: ${answer.status} ${answer.error}`)
    before = sent.get(mark)?.length ?? 0
    const results = message.tool_calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'a drink' }))
    answer = await ask(world, { ...request, messages: [...request.messages, message, ...results] })
  }
  const { status, error, answered } = answer
  const bodies = (sent.get(mark) ?? []).slice(before)
  return { exchange: { status, message: error, answered, bodies }, expected: marked(cell.expected) }
}

interface Message {
  role?: string
  content?: string | null
  tool_calls?: { index?: number; id: string; type: string; function: { name: string; arguments: string } }[]
  reasoning_content?: string
  reasoning_signature?: string
}

interface Answer {
  status: number
  error: string
  message?: Message
  answered: Set<AnswerPart>
}

interface Body {
  error?: { message: string }
  choices?: { message?: Message; delta?: Message; logprobs?: unknown }[]
  usage?: unknown
}

async function ask(world: World, request: { stream: boolean; messages: object[] }): Promise<Answer> {
  const response = await complete(world, request)
  const text = await response.text()
  const { status } = response
  if (status !== 200) {
    const { message = text } = JSON.parse(text) as { message?: string }
    return { status, error: message, answered: new Set() }
  }
  const events = request.stream ? eventsOf(text) : [text]
  if (request.stream && events.pop() !== '[DONE]') throw new Error(`the stream has no end: ${text.slice(-300)}`)
  const bodies = events.map((event) => JSON.parse(event) as Body)
  const failed = bodies.find(({ error }) => error)
  if (failed) throw new Error(failed.error?.message)
  const choices = bodies.flatMap((body) => body.choices ?? [])
  const message = choices.reduce((whole, { message: said, delta = said }) => joined(whole, delta ?? {}), {} as Message)
  const answered = new Set<AnswerPart>()
  for (const part of ['reasoning_content', 'reasoning_signature', 'tool_calls'] as const)
    if (message[part]) answered.add(part)
  if (choices.some(({ logprobs }) => logprobs)) answered.add('logprobs')
  const hasUsage = bodies.some(({ usage }) => usage)
  if (hasUsage) answered.add('usage')
  // A JSON body always reports it.
  if (!hasUsage || !request.stream) answered.add('no usage')
  return { status, error: '', message, answered }
}

/** A message, piece by piece. */
function joined(whole: Message, delta: Message): Message {
  const next = { ...whole, role: 'assistant' }
  for (const part of ['content', 'reasoning_content', 'reasoning_signature'] as const)
    if (delta[part]) next[part] = `${whole[part] ?? ''}${delta[part]}`
  next.content ??= null
  for (const { index = 0, ...call } of delta.tool_calls ?? []) {
    const known = next.tool_calls?.[index]
    if (known) known.function.arguments += call.function.arguments
    else next.tool_calls = [...(next.tool_calls ?? []), { ...call, type: 'function' }]
  }
  return next
}
