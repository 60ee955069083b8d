import { composeReply, promptTokensOf, textOf, tokensIn } from '../../simulator/reply.ts'
import type { Simulator } from '../../simulator/server.ts'
import { chatBodyOf, chatEventsOf } from '../support/responses-as-chat.ts'
import { DIMENSIONS, vectorFor } from '../../simulator/vectors.ts'
import { eventsOf, until } from '../support/world.ts'
import type { Cell } from './cells.ts'
import { FAULTY_SEED, HEALTHY_SEED } from './places.ts'
import { isInManyBytes, TOKENS, type World } from './world.ts'

/** One call and everything that is known of it afterwards: on the wire, in the ledger, and at the simulators. */
export interface Exchange {
  status: number
  contentType: string
  body: string
  /** The data of each event, if it was a stream. */
  events: string[]
  ms: number
  call: CallRecord
  /** How often each upstream was asked this. */
  asked: { faulty: number; healthy: number }
  said: Said
}

export interface CallRecord {
  outcome: string
  status: number
  model_id: string
  attempts: readonly { provider: string; model?: string; failed?: string }[]
  held_nanos: bigint
  charged_nanos: bigint
  usage_nanos: bigint
  usage_source: string
}

/** Each simulator's answer to this prompt, with the number of tokens in it and in the prompt. */
export interface Said {
  faulty: string
  healthy: string
  tokens: number
  promptTokens: number
}

/** Must not appear in a log. */
export const SECRET = 'Tell me a secret'

const SETTLED_WITHIN_MS = 30_000
const CALL_MS_MAX = 90_000

let exchanges = 0

export async function askOnce(world: World, cell: Cell): Promise<Exchange> {
  const { model, fallback, place } = world.stationOf(cell)
  // Found again in what the simulators were asked, and in nothing else.
  const mark = `<${cell.id} ${exchanges++}>`
  // Each call has words of its own, so that an answer shows whose it is.
  const prompt = `${SECRET} ${mark}`
  const startedMs = performance.now()
  const isEmbedding = cell.adapter.isEmbedding === true
  const path = isEmbedding ? 'embeddings' : cell.isOfResponses ? 'responses' : 'chat/completions'
  const asked =
    cell.isOfResponses || isEmbedding ? { input: prompt } : { messages: [{ role: 'user', content: prompt }] }
  const response = await fetch(`${world.url}/v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...world.project.headers },
    body: JSON.stringify({
      model,
      models: fallback && [fallback],
      ...(!isEmbedding && { stream: cell.isStreamed }),
      ...asked,
    }),
    signal: AbortSignal.timeout(CALL_MS_MAX),
  })
  const text = await response.text()
  const ms = performance.now() - startedMs
  return {
    status: response.status,
    contentType: response.headers.get('content-type') ?? '',
    ...readingOf(cell, text),
    ms,
    call: await recordOf(world, response),
    asked: {
      faulty: timesAsked(place.simulator, mark),
      healthy: timesAsked(world.places.healthy, mark),
    },
    said: isEmbedding ? vectorsOf(prompt) : saidTo(prompt, cell),
  }
}

/** A stream has no usage of its own accord in a chat, and always in a response: what both have is compared. */
function readingOf({ isStreamed, isOfResponses }: Cell, text: string): Pick<Exchange, 'body' | 'events'> {
  if (!isOfResponses) return { body: text, events: isStreamed ? eventsOf(text) : [] }
  if (!isStreamed) return { body: chatBodyOf(text), events: [] }
  const events = chatEventsOf(text).filter((event) => !event.includes('"choices":[],"usage"'))
  return { body: events.length === 0 ? text : events.join('\n'), events }
}

const seen = new WeakMap<Simulator, { calls: number; times: Map<string, number> }>()

/** Each call is read once: a thousand calls that each read a thousand bodies would be most of the work. */
function timesAsked(simulator: Simulator | undefined, mark: string): number {
  if (!simulator) return 0
  const known = seen.get(simulator) ?? { calls: 0, times: new Map<string, number>() }
  seen.set(simulator, known)
  for (const { body } of simulator.calls.slice(known.calls)) {
    const found = /<[^<>]+>/.exec(JSON.stringify(body))?.[0] ?? ''
    known.times.set(found, (known.times.get(found) ?? 0) + 1)
  }
  known.calls = simulator.calls.length
  return known.times.get(mark) ?? 0
}

function vectorsOf(prompt: string): Said {
  const vector = (seed: number) => JSON.stringify(vectorFor(prompt, DIMENSIONS, seed))
  return { faulty: vector(FAULTY_SEED), healthy: vector(HEALTHY_SEED), tokens: 0, promptTokens: tokensIn(prompt) }
}

function saidTo(prompt: string, cell: Cell): Said {
  const speak = (seed: number) => composeReply({ seed, prompt, tokens: TOKENS, utf8: isInManyBytes(cell.fault) })
  const faulty = speak(FAULTY_SEED)
  return {
    faulty: textOf(faulty.pieces),
    healthy: textOf(speak(HEALTHY_SEED).pieces),
    tokens: faulty.tokens,
    promptTokens: promptTokensOf([prompt]),
  }
}

/** A call is settled before its answer ends; one that never becomes a row fails its cell here. */
async function recordOf(world: World, { status, headers }: Response): Promise<CallRecord> {
  let record: CallRecord | undefined
  await until(async () => {
    const callId = world.callIdOf(headers.get('x-request-id') ?? '')
    if (callId === undefined) return false
    const row = await world.store.db
      .selectFrom('calls as c')
      .innerJoin('charges as m', 'm.id', 'c.id')
      .select(['c.outcome', 'c.status', 'c.model_id', 'c.attempts', 'm.held_nanos', 'm.charged_nanos'])
      .select(['m.usage_nanos', 'm.usage_source'])
      .where('c.id', '=', callId)
      .executeTakeFirst()
    record = row && { ...row, attempts: row.attempts as CallRecord['attempts'] }
    return record !== undefined
  }, SETTLED_WITHIN_MS).catch(() => undefined)
  if (!record) throw new Error(`the call was answered ${status} and not settled within ${SETTLED_WITHIN_MS} ms`)
  return record
}
