import type { PerClass } from '../../src/rules/billing/usage.ts'
import { EMBEDDING_PRICE, PRICE } from '../support/world.ts'
import { expectedOf } from './adapters.ts'
import type { Cell } from './cells.ts'
import type { Broken, Refused, Whole } from './expected.ts'
import type { Exchange } from './exchange.ts'
import { CACHED_TOKENS, DEARER, EMBEDDING_FACTOR, REASONING_TOKENS } from './world.ts'

/** Says in words how an exchange breaks the promise. Empty: the promise was kept. */
export function complaintsAbout(cell: Cell, exchange: Exchange): string[] {
  const { expected } = cell
  switch (expected.ending) {
    case 'whole':
      return wholeAnswer(cell, exchange, expected, 'faulty')
    case 'broken':
      return brokenAnswer(cell, exchange, expected)
    case 'refused':
      return [
        ...neverAsked(exchange, expected),
        ...(cell.hasSecondRoute || cell.hasFallback
          ? secondAnswer(cell, exchange, expected)
          : noAnswer(exchange, expected)),
      ]
  }
}

/** The time limit is apart: only a machine can break that one alone, and it gets a second try when nothing else runs. */
export function isTooSlow(cell: Cell, exchange: Exchange): boolean {
  return exchange.ms > cell.expected.withinMs
}

function differs(what: string, actual: unknown, wanted: unknown): string[] {
  return actual === wanted ? [] : [`${what} is ${String(actual)}, not ${String(wanted)}`]
}

function neverAsked({ asked }: Exchange, expected: Refused): string[] {
  return expected.isNeverAsked ? differs('how often the prompt was told to a stranger', asked.faulty, 0) : []
}

function noAnswer(exchange: Exchange, expected: Refused): string[] {
  return [
    ...(expected.kinds.includes('rate_limited') ? limitedProvider(exchange) : badGateway(exchange)),
    ...nothingCharged(exchange, expected),
    ...differs('the worth of an answer that never began', exchange.call.usage_nanos, 0n),
    ...differs('where its usage came from', exchange.call.usage_source, 'none'),
    ...allFailed(exchange, expected.kinds),
  ]
}

function secondAnswer(cell: Cell, exchange: Exchange, expected: Refused): string[] {
  const attempts = exchange.call.attempts
  const healthy = expectedOf(cell.adapter, 'none') as Whole
  const failed = attempts.slice(0, -1)
  return [
    ...wholeAnswer(cell, exchange, healthy, 'healthy'),
    ...differs('how often the second provider was asked', exchange.asked.healthy, 1),
    ...(failed.length === 0 ? ['the first route was not tried'] : failed.flatMap((a) => ofKind(a, expected.kinds))),
    ...differs('the failure of the last attempt', attempts.at(-1)?.failed, undefined),
    ...(cell.hasFallback ? fallbackAnswer(exchange) : []),
  ]
}

/** Charged as the model that answered, held for the dearer one, and each attempt says whose it was. */
function fallbackAnswer({ call, body, events }: Exchange): string[] {
  const { attempts, held_nanos: held, charged_nanos: charged } = call
  const answered = parsed(events.at(0) ?? body).model
  return [
    ...differs('the model that was charged', call.model_id, answered),
    ...differs('the model of the last attempt', attempts.at(-1)?.model, answered),
    ...(call.model_id.startsWith('fallback') ? [] : [`it is charged as ${call.model_id}`]),
    ...(attempts.slice(0, -1).every(({ model }) => model?.startsWith('cell'))
      ? []
      : ['a failed attempt names no model']),
    ...(held >= charged ? [] : ['the hold did not cover the dearer model']),
  ]
}

function brokenAnswer(cell: Cell, exchange: Exchange, expected: Broken): string[] {
  return [
    ...(cell.isStreamed ? brokenStream(exchange) : badGateway(exchange)),
    ...nothingCharged(exchange, expected),
    ...(exchange.call.usage_nanos > 0n ? [] : ['the loss of the operator was not recorded']),
    ...differs('how often the second provider was asked', exchange.asked.healthy, 0),
    ...allFailed(exchange, expected.kinds),
  ]
}

function brokenStream({ status, contentType, events, body, said }: Exchange): string[] {
  const chunks = events.map(parsed)
  const error = chunks.at(-1)?.error
  const content = chunks.map(contentOf).join('')
  return [
    ...differs('the status', status, 200),
    ...differs('the content type', contentType, 'text/event-stream; charset=utf-8'),
    ...(content !== '' && said.faulty.startsWith(content)
      ? []
      : [`the text is no beginning of what was said: ${JSON.stringify(content)}`]),
    ...differs('the last event', error && Object.keys(error).join(), 'message,type,code'),
    ...differs('its code', error?.code, 'upstream_failed'),
    ...(body.includes('[DONE]') ? ['a broken stream ends with [DONE]'] : []),
    ...(chunks.some((chunk) => chunk.choices?.[0]?.finish_reason != null) ? ['a broken stream has a finish'] : []),
  ]
}

function badGateway(exchange: Exchange): string[] {
  return refusal(exchange, 502, 'The model provider could not answer. Retry.', 'Bad Gateway')
}

function limitedProvider(exchange: Exchange): string[] {
  const message = 'The model provider is limiting requests. Retry after the stated time, or use another model.'
  return refusal(exchange, 503, message, 'Service Unavailable')
}

function refusal({ status, body, contentType }: Exchange, statusCode: number, message: string, error: string) {
  const wanted = { statusCode, message, error }
  return [
    ...differs('the status', status, statusCode),
    ...differs('the content type', contentType, 'application/json; charset=utf-8'),
    ...differs('the body', body, JSON.stringify(wanted)),
  ]
}

function nothingCharged({ call }: Exchange, expected: Refused | Broken): string[] {
  const isOutcome = expected.outcomes.some((outcome) => outcome === call.outcome)
  return [
    ...differs('the charge', call.charged_nanos, 0n),
    ...(isOutcome ? [] : [`the outcome is ${call.outcome}, not ${expected.outcomes.join(' or ')}`]),
  ]
}

/** A single route may be tried twice. */
function allFailed({ call }: Exchange, kinds: readonly string[]): string[] {
  const { attempts } = call
  if (attempts.length === 0 || attempts.length > 2) return [`there were ${attempts.length} attempts`]
  return attempts.flatMap((attempt) => ofKind(attempt, kinds))
}

function ofKind({ failed }: { failed?: string }, kinds: readonly string[]): string[] {
  return failed !== undefined && kinds.includes(failed)
    ? []
    : [`an attempt ended as ${failed ?? 'a success'}, not ${kinds.join(' or ')}`]
}

function wholeAnswer(cell: Cell, exchange: Exchange, expected: Whole, voice: 'faulty' | 'healthy'): string[] {
  const { call, said, asked } = exchange
  const isReported = expected.charged === 'as reported'
  const isEmbedding = cell.adapter.isEmbedding === true
  const usage = {
    prompt_tokens: said.promptTokens,
    completion_tokens: said.tokens + (isReported ? REASONING_TOKENS : 0),
  }
  return [
    ...differs('the status', exchange.status, 200),
    ...(isEmbedding ? wholeVectors(exchange, said[voice], isReported) : []),
    ...(cell.isStreamed ? wholeStream(exchange, said[voice]) : []),
    ...(cell.isStreamed || isEmbedding ? [] : wholeBody(exchange, said[voice], usage)),
    ...differs(
      'the charge',
      call.charged_nanos,
      isEmbedding
        ? chargeForVectors(exchange, isReported)
        : chargeFor(exchange, isReported, cell.hasFallback && voice === 'healthy' ? DEARER : PRICE),
    ),
    ...differs('where its usage came from', call.usage_source, isReported ? 'reported' : 'estimated'),
    ...differs('the outcome', call.outcome, 'completed'),
    ...(voice === 'faulty' ? differs('how often the second provider was asked', asked.healthy, 0) : []),
    ...(voice === 'faulty' ? differs('the number of attempts', call.attempts.length, 1) : []),
  ]
}

/** Prices are per million tokens. */
function chargeFor({ said }: Exchange, isReported: boolean, price: PerClass<bigint>): bigint {
  const cached = isReported ? CACHED_TOKENS : 0
  const fresh = BigInt(said.promptTokens - cached) * price.input
  const written = BigInt(said.tokens + (isReported ? REASONING_TOKENS : 0)) * price.output
  return (fresh + BigInt(cached) * price.cachedInput + written) / 1_000_000n
}

/** Vectors cost their prompt, which is all that is counted. */
function chargeForVectors({ said }: Exchange, isReported: boolean): bigint {
  return (BigInt(said.promptTokens * (isReported ? EMBEDDING_FACTOR : 1)) * EMBEDDING_PRICE.input) / 1_000_000n
}

function wholeVectors({ body, said, contentType }: Exchange, vector: string, isReported: boolean): string[] {
  const tokens = said.promptTokens * (isReported ? EMBEDDING_FACTOR : 1)
  const { data, usage } = parsed(body)
  return [
    ...differs('the content type', contentType, 'application/json; charset=utf-8'),
    ...differs('the vector', JSON.stringify(data?.[0]?.embedding), vector),
    ...differs('the number of vectors', data?.length, 1),
    ...differs('the usage', JSON.stringify(usage), JSON.stringify({ prompt_tokens: tokens, total_tokens: tokens })),
  ]
}

function wholeBody({ body }: Exchange, text: string, usage: Record<string, number>): string[] {
  const answer = parsed(body)
  return [
    ...differs('the text', answer.choices?.[0]?.message?.content, text),
    ...differs('the finish', answer.choices?.[0]?.finish_reason, 'stop'),
    ...Object.entries(usage).flatMap(([count, wanted]) => differs(count, answer.usage?.[count], wanted)),
  ]
}

function wholeStream({ events, contentType }: Exchange, text: string): string[] {
  const chunks = events.slice(0, -1).map(parsed)
  return [
    ...differs('the content type', contentType, 'text/event-stream; charset=utf-8'),
    ...differs('the role in the first event', chunks[0]?.choices?.[0]?.delta?.role, 'assistant'),
    ...differs('the text', chunks.map(contentOf).join(''), text),
    ...differs('the finish', chunks.at(-1)?.choices?.[0]?.finish_reason, 'stop'),
    ...differs('the last event', events.at(-1), '[DONE]'),
  ]
}

interface Parsed {
  model?: unknown
  data?: { embedding: unknown }[]
  error?: Record<string, unknown>
  usage?: Record<string, unknown>
  choices?: {
    delta?: { role?: unknown; content?: string }
    message?: { content?: unknown }
    finish_reason?: unknown
  }[]
}

/** Text that is not JSON has none of the fields, and the complaints then say so. */
function parsed(text: string): Parsed {
  try {
    return JSON.parse(text) as Parsed
  } catch {
    return {}
  }
}

function contentOf(chunk: Parsed): string {
  return chunk.choices?.[0]?.delta?.content ?? ''
}
