import { storeUnavailable } from '../rules/errors.ts'
import { billFor, type Ending } from '../rules/billing/charging.ts'
import type { ChatRequest } from '../rules/calls/chat-request.ts'
import { OUTPUT_TOKENS_MAX_UNKNOWN, quote, type Quote } from '../rules/billing/holds.ts'
import type { Nanos } from '../rules/money.ts'
import { costOf, outputTokensFor } from '../rules/billing/pricing.ts'
import { NO_USAGE, type Usage } from '../rules/billing/usage.ts'
import type { Call } from './call.ts'
import type { Gateway } from './gateway.ts'
import type { MeteredRoute, MeteredRoutes } from './metering/prompt.ts'

/** Credit set aside for one call, until it is settled. */
export interface Hold {
  /** It grows with a long answer. */
  amount(): Nanos
  /** Where the provider must be told to end. Undefined: it stops by itself where the hold ends, or the meter can stop it. */
  maxTokensFor(route: MeteredRoute): number | undefined
  /** Resolves to whether the hold has grown by all that was asked for. Rejects when the store is away: that is no word on
   * the wallet. */
  extend(route: MeteredRoute): Promise<boolean>
  /** Charges what the rules say, at the price of the route that answered, and releases the rest. Durable when it resolves;
   * at most once whatever happens. */
  settle(route: MeteredRoute, ending: Ending, status?: number, result?: string): Promise<void>
}

/** The fields of a request that say how long its answer may get. */
export type HoldTerms = Pick<ChatRequest, 'max_tokens' | 'reasoning_effort' | 'prediction' | 'stop'>

type HoldParts = Pick<Gateway, 'ledger' | 'statistics' | 'idempotency' | 'endUsers' | 'ignoredFields' | 'metadata'>

/**
 * Everything before the first upstream byte: nothing is sent to a provider that the wallet has not set credit aside for. Where
 * there are several routes, that is enough for the dearest.
 */
export async function holdFor(
  { ledger, statistics, idempotency, endUsers, ignoredFields, metadata }: HoldParts,
  call: Call,
  terms: HoldTerms,
  routes: MeteredRoutes,
): Promise<Hold> {
  const { projectId, publisherId } = call.caller
  const quotes = new Map(routes.map((route) => [route, quoteFor(statistics, publisherId, terms, route)]))
  const quoteOf = (route: MeteredRoute) => quotes.get(route) as RouteQuote
  const { label, endUserId, ...whose } = whoseOf(call, endUsers)
  const ids = { callId: call.id, projectId, hasIdempotencyKey: call.idempotencyKey !== undefined }
  const [{ model, price }] = routes
  const frozen = { modelId: model.id, priceVersion: price.version }
  const wanted = { ...ids, ...frozen, ...whose, endUserId, endpoint: call.endpoint, ...dearestOf([...quotes.values()]) }
  const grant = await ledger.hold(wanted).catch(async (error: unknown) => {
    await idempotency.giveUp(call)
    throw error
  })
  if (endUserId) endUsers.noteSeen(call, endUserId, label)
  ignoredFields.note(call)
  Object.assign(call.progress, { endUserId, rates: grant.rates })
  let { amount } = grant
  const first = amount
  let extension = 0

  return {
    amount: () => amount,
    maxTokensFor: (route) => maxTokensFor(first, terms, route, quoteOf(route)),
    async extend(route) {
      extension += 1
      const oneToken = costOf({ ...NO_USAGE, output: 1 }, route.price) || 1n
      const want = costOf({ ...NO_USAGE, output: quoteOf(route).outputTokens }, route.price) || 1n
      const extended = { callId: call.id, projectId, extension, want, min: oneToken }
      const total = await ledger.extend(extended).catch(() => {
        throw storeUnavailable({ extension })
      })
      // A hold that was swept while this process was paused answers 0. What was set aside still bounds the bill.
      const grownBy = total - amount
      if (grownBy > 0n) amount = total
      return grownBy >= want
    },
    async settle(route, ending, status = 200, result) {
      const { usage, source: usageSource, worth, charge } = billFor(ending, route.price)
      addUpstreamCost(call, routes, usage)
      call.progress.bill = { outcome: ending.outcome, usage, usageSource, held: amount, worth }
      const { requestId, conversationId, endpoint } = call
      const durationMs = Math.round(performance.now() - call.startedMs)
      const bill = { outcome: ending.outcome, usage, usageSource, worth, charge }
      const told = { requestId, conversationId, endpoint, status, durationMs, result, ...call.facts }
      const settlement = { ...ids, ...bill, ...told, ...(route === routes[0] ? {} : chargedAs(route)) }
      call.progress.charged = await ledger.settle(settlement)
      metadata.record(call)
    },
  }
}

interface RouteQuote extends Quote {
  hiddenTokens: number
}

function quoteFor(
  statistics: Gateway['statistics'],
  publisherId: string,
  terms: HoldTerms,
  { model, price, prompt }: MeteredRoute,
): RouteQuote {
  const hiddenTokens = statistics.hiddenTokens(model, publisherId, terms)
  const asked = quote({
    promptTokens: prompt.tokens,
    maxTokens: terms.max_tokens,
    typicalOutputTokens: statistics.typicalOutput(model, publisherId),
    outputTokensMax: model.maxOutputTokens ?? OUTPUT_TOKENS_MAX_UNKNOWN,
    hiddenTokens,
    price,
  })
  return { ...asked, hiddenTokens }
}

/** Returns a want and a min that are enough for each of the quotes. */
function dearestOf(quotes: readonly RouteQuote[]): Pick<Quote, 'want' | 'min'> {
  return {
    want: quotes.map(({ want }) => want).reduce(larger),
    min: quotes.map(({ min }) => min).reduce(larger),
  }
}

function larger(a: Nanos, b: Nanos): Nanos {
  return a > b ? a : b
}

function maxTokensFor(
  granted: Nanos,
  terms: HoldTerms,
  { model, price, prompt }: MeteredRoute,
  { want, outputTokens, hiddenTokens }: RouteQuote,
): number | undefined {
  if (granted < want) return Math.max(1, outputTokensFor(granted, prompt.tokens, price, outputTokens))
  const isUnseen = hiddenTokens > 0 && outputTokens !== model.maxOutputTokens
  return terms.max_tokens !== undefined || isUnseen ? outputTokens : undefined
}

/** The hold was frozen for the model that was asked for. */
function chargedAs({ model, price }: MeteredRoute) {
  return { answeredModelId: model.id, answeredPriceVersionId: price.version.toString() }
}

/**
 * Returns whose limits hold for the call. For a browser session they were fixed when it was made: the browser's own word
 * counts for nothing.
 */
function whoseOf({ caller: { projectId, keyPairId, session }, endUser }: Call, endUsers: HoldParts['endUsers']) {
  if (session) return { keyPairId, sessionId: session.id, endUserId: session.endUserId ?? undefined }
  return { keyPairId, endUserId: endUser && endUsers.digestOf(projectId, endUser.id), label: endUser?.label }
}

/** The last attempt is the one that answered, or broke midway: what it used is what the provider bills. */
function addUpstreamCost({ facts }: Call, routes: readonly MeteredRoute[], usage: Usage): void {
  const attempt = facts.attempts.at(-1)
  const deployments = routes.flatMap((route) => route.deployments)
  const cost = deployments.find(({ id }) => id === facts.deploymentId)?.cost
  if (attempt && cost) attempt.costNanos = costOf(usage, cost).toString()
}
