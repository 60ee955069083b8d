import type { Random } from '../support/random.ts'

/** One request of the exactness run: what is asked, how its caller behaves, and what it must cost. */
export interface Trial {
  /** Names the call at the simulated provider and, as its conversation or in its metadata, in the ledger. */
  readonly id: string
  readonly kind: string
  /** With `input`, it is for the endpoint of embeddings. */
  readonly body: Record<string, unknown>
  /** The same by way of the Responses API, if that is how it is asked. */
  readonly asResponse?: Record<string, unknown> | undefined
  readonly caller: Behaviour
  readonly pays: Rule
  /** Credit of a wallet of its own; without it, one that has plenty. */
  readonly funds?: bigint
}

export type Behaviour =
  | { does: 'read' }
  | { does: 'hang up'; when: Moment }
  /** Reads so much, then nothing for a while, so many times; after that it goes on, unless it has gone away. */
  | { does: 'stall'; times: number; afterBytes: number; forMs: number; isLast: boolean }
  /** Sends the request so often, under one Idempotency-Key; the first time it goes away at once. */
  | { does: 'retry'; times: number }

export type Moment =
  | 'half sent'
  /** The provider has the request. */
  | 'asked'
  /** The provider has written so many tokens. */
  | { generated: number }
  | { chunks: number }
  | 'finish'

/**
 * The rules of the charging table, in terms of the provider's bill.
 *
 * nothing   not a nano: the provider broke, or was never asked
 * billed    to the nano
 * counted   the provider did not report: our tokenizer's count, within one percent or a hundred tokens
 * streamed  hung up while tokens were on their way: at least what the caller got, at most what was billed
 * funds     what was billed, or all there was
 * no thoughts  what was billed but for thoughts, of a model that has none
 */
export type Rule = 'nothing' | 'billed' | 'counted' | 'streamed' | 'funds' | 'no thoughts'

/**
 * A kind of request. One that pays what was `billed` trusts the provider's report, and sees a wrong count of our own only
 * where a report is bounded by it: beyond some 1,024 tokens. To try what we count, let it pay what is `counted`.
 */
export interface Kind {
  name: string
  /** How often it is drawn, beside the others. */
  weight: number
  draw(random: Random, id: string): Omit<Trial, 'id' | 'kind'>
}
