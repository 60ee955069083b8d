import { InvalidArgumentError } from 'commander'
import { nameProblemOf } from '../rules/accounts/names.ts'
import { parseMargin } from '../rules/catalogue/margins.ts'
import { domainNameOf } from '../rules/projects/domains.ts'
import { parseCredits, type Nanos } from '../rules/money.ts'
import { parsePrice } from '../rules/offers/merchant-price.ts'

/** Readers of what is typed on the command line. What they refuse is a mistake in usage. */

const PRICE_MAX: Nanos = parseCredits('10000')

export function creditsOf(text: string): Nanos {
  const amount = amountOf(text)
  if (amount === 0n) throw new InvalidArgumentError('The amount must be more than zero.')
  return amount
}

/** 0 lets nothing be spent, and `none` takes a budget away: see limitUpTo. */
export function budgetOf(text: string): Nanos | 'none' {
  return text === 'none' ? text : amountOf(text)
}

/** An amount to add, or with a minus to take away. */
export function signedCreditsOf(text: string): Nanos {
  const amount = creditsOf(text.replace(/^[+-]/, ''))
  return text.startsWith('-') ? -amount : amount
}

/** Dollars per million tokens; the bound catches a price typed in another unit. */
export function priceOf(text: string): Nanos {
  const price = amountOf(text)
  if (price > PRICE_MAX) throw new InvalidArgumentError('A price is in dollars per million tokens, at most 10000.')
  return price
}

/** Percent, in hundredths of one. */
export function marginOf(text: string): number {
  try {
    return parseMargin(text)
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : '')
  }
}

function amountOf(text: string): Nanos {
  try {
    return parseCredits(text)
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : '')
  }
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^-?\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
    }
    return value
  }
}

export type Limit = number | 'none'

/** `none` takes a limit away. It stays a word until it reaches the store: commander reads null as "no value given". */
export function limitUpTo(max: number): (text: string) => Limit {
  const read = wholeNumber(1, max)
  return (text) => (text === 'none' ? text : read(text))
}

export function listOf(text: string): string[] {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  if (entries.length === 0) throw new InvalidArgumentError('It must name at least one.')
  return [...new Set(entries)]
}

export function timeOf(text: string): Date {
  const time = new Date(text)
  if (!/^\d{4}-\d{2}-\d{2}/.test(text) || Number.isNaN(time.getTime())) {
    throw new InvalidArgumentError('Use a time like 2026-01-31T00:00:00Z.')
  }
  return time
}

/** Reads the name of a publisher, a project or a key pair, by the same rules as the console. */
export function tenantNameOf(text: string): string {
  const name = text.trim()
  const problem = nameProblemOf(name)
  if (problem !== undefined) throw new InvalidArgumentError(problem)
  return name
}

/** Reads the name of a campaign, a feed or a company, which may be called after an address: "Amazon.com, Inc." */
export function nameOf(text: string): string {
  const name = text.trim()
  if (name === '' || name.length > 200) throw new InvalidArgumentError('A name has 1 to 200 characters.')
  return name
}

export function reasonOf(text: string): string {
  const reason = text.trim()
  if (reason === '' || reason.length > 500) throw new InvalidArgumentError('A reason has 1 to 500 characters.')
  return reason
}

/** The name as DNS knows it: lower case, and punycode for other scripts. */
export function domainOf(text: string): string {
  // A form takes what is pasted from the address bar; whoever types a command means what they type.
  const name = text.includes('/') ? undefined : domainNameOf(text)
  if (name !== undefined) return name
  throw new InvalidArgumentError('Enter a domain that someone can own, like example.com, without a path.')
}

export function upstreamModelOf(text: string): string {
  if (text.length >= 1 && text.length <= 300) return text
  throw new InvalidArgumentError('It has 1 to 300 characters.')
}

/** How many rows to show. */
export const rowsOf = wholeNumber(1, 1_000)

export function currencyOf(text: string): string {
  const code = text.toUpperCase()
  const price = parsePrice('1', code)
  if (typeof price === 'string' || price.currency !== code)
    throw new InvalidArgumentError('Name a currency by its code, like EUR.')
  return code
}
