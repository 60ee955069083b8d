import { Option, type Command } from 'commander'
import { formatCredits, type Nanos } from '../rules/money.ts'
import type { Db } from '../store/database.ts'
import { insertPrice, type NewPrice } from '../store/models.ts'
import { priceOf, timeOf } from './arguments.ts'
import { CliError, FOREIGN_KEY_VIOLATION, codeOf, UNIQUE_VIOLATION, unknownId } from './failures.ts'
import { facts, type Output } from './print.ts'
import type { Session } from './session.ts'

export interface PriceOptions {
  input: Nanos
  output: Nanos
  cachedInput?: Nanos
  cacheWrite?: Nanos
  reasoning?: Nanos
  effectiveFrom?: Date
}

const CLASSES = ['input', 'cached_input', 'cache_write', 'output', 'reasoning'] as const
type PriceRow = Record<(typeof CLASSES)[number], Nanos>

/** All in US dollars per million tokens, as providers publish them. */
export function addPriceOptions(command: Command): Command {
  return command
    .addOption(priceOption('--input <dollars>', 'per million prompt tokens').makeOptionMandatory())
    .addOption(priceOption('--output <dollars>', 'per million answer tokens').makeOptionMandatory())
    .addOption(
      priceOption('--cached-input <dollars>', 'per million prompt tokens read from a cache (default: --input)'),
    )
    .addOption(
      priceOption('--cache-write <dollars>', 'per million prompt tokens written to a cache (default: --input)'),
    )
    .addOption(priceOption('--reasoning <dollars>', 'per million reasoning tokens (default: --output)'))
    .option('--effective-from <time>', 'when it takes effect, for example 2026-01-31T00:00:00Z (default: now)', timeOf)
}

function priceOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(priceOf)
}

export function newPriceOf(modelId: string, options: PriceOptions): NewPrice {
  if (options.effectiveFrom && options.effectiveFrom.getTime() < Date.now()) {
    throw new CliError('A price cannot take effect in the past. Leave out --effective-from to let it take effect now.')
  }
  return {
    modelId,
    input: options.input,
    cachedInput: options.cachedInput ?? options.input,
    cacheWrite: options.cacheWrite ?? options.input,
    output: options.output,
    reasoning: options.reasoning ?? options.output,
    effectiveFrom: options.effectiveFrom ?? new Date(),
  }
}

export async function setPrice({ db }: Session, modelId: string, options: PriceOptions): Promise<Output> {
  const price = newPriceOf(modelId, options)
  const id = await insertPriceOnce(db, price)
  const row = {
    input: price.input,
    cached_input: price.cachedInput,
    cache_write: price.cacheWrite,
    output: price.output,
    reasoning: price.reasoning,
  }
  return {
    document: { model: modelId, price_version: id, effective_from: price.effectiveFrom, price: priceDocument(row) },
    text: facts({ model: modelId, version: id, 'effective from': price.effectiveFrom, ...priceFacts(row) }),
  }
}

async function insertPriceOnce(db: Db, price: NewPrice): Promise<bigint> {
  try {
    return await insertPrice(db, price)
  } catch (error) {
    if (codeOf(error) === FOREIGN_KEY_VIOLATION) throw unknownId('model', price.modelId)
    if (codeOf(error) !== UNIQUE_VIOLATION) throw error
    throw new CliError('This model already has a price from that very time. Choose another --effective-from.')
  }
}

export function priceDocument(row: PriceRow): Record<string, Nanos> {
  return Object.fromEntries(CLASSES.map((name) => [`${name}_per_million_nanos`, row[name]]))
}

export function priceFacts(row: PriceRow): Record<string, string> {
  return Object.fromEntries(
    CLASSES.map((name) => [name.replace('_', ' '), `${formatCredits(row[name])} per million tokens`]),
  )
}
