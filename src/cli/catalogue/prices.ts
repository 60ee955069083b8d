import { Option, type Command } from 'commander'
import { addPrice } from '../../actions/catalogue/models.ts'
import { formatCredits, type Nanos } from '../../rules/money.ts'
import type { NewPrice } from '../../store/catalogue/models.ts'
import { priceOf, timeOf } from '../arguments.ts'
import { CliError, FOREIGN_KEY_VIOLATION, codeOf, UNIQUE_VIOLATION, unknownId } from '../failures.ts'
import { facts, type Output } from '../print.ts'
import type { Session } from '../session.ts'

export interface PriceOptions extends PerMillion {
  effectiveFrom?: Date
}

/** In dollars per million tokens of each class, of which only the first two must be given. */
export interface PerMillion {
  input: Nanos
  output: Nanos
  cachedInput?: Nanos
  cacheWrite?: Nanos
  reasoning?: Nanos
}

export const CLASSES = ['input', 'cached_input', 'cache_write', 'output', 'reasoning'] as const
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

export function priceOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(priceOf)
}

export function newPriceOf(modelId: string, options: PriceOptions): NewPrice {
  if (options.effectiveFrom && options.effectiveFrom.getTime() < Date.now()) {
    throw new CliError('A price cannot take effect in the past. Leave out --effective-from to let it take effect now.')
  }
  return {
    modelId,
    ...allClassesOf(options),
    effectiveFrom: options.effectiveFrom ?? new Date(),
  }
}

/** Most providers ask the same for a cached prompt token as for any, and the same for a thought as for an answer. */
export function allClassesOf({ input, output, cachedInput, cacheWrite, reasoning }: PerMillion): Required<PerMillion> {
  return {
    input,
    cachedInput: cachedInput ?? input,
    cacheWrite: cacheWrite ?? input,
    output,
    reasoning: reasoning ?? output,
  }
}

export async function setPrice({ actor, change }: Session, modelId: string, options: PriceOptions): Promise<Output> {
  const price = newPriceOf(modelId, options)
  const id = await change((tx) => addPrice(tx, actor, { price })).catch((error: unknown) => {
    if (codeOf(error) === FOREIGN_KEY_VIOLATION) throw unknownId('model', modelId)
    if (codeOf(error) !== UNIQUE_VIOLATION) throw error
    throw new CliError('This model already has a price from that very time. Choose another --effective-from.')
  })
  const row = rowOf(price)
  return {
    document: { model: modelId, price_version: id, effective_from: price.effectiveFrom, price: priceDocument(row) },
    text: facts({ model: modelId, version: id, 'effective from': price.effectiveFrom, ...priceFacts(row) }),
  }
}

/** As the tables name the classes, and everything that is printed. */
export function rowOf<Value>(classes: Record<keyof PerMillion, Value>): Record<(typeof CLASSES)[number], Value> {
  const { input, cachedInput, cacheWrite, output, reasoning } = classes
  return { input, cached_input: cachedInput, cache_write: cacheWrite, output, reasoning }
}

export function priceDocument(row: PriceRow): Record<string, Nanos> {
  return Object.fromEntries(CLASSES.map((name) => [`${name}_per_million_nanos`, row[name]]))
}

function priceFacts(row: PriceRow): Record<string, string> {
  return Object.fromEntries(
    CLASSES.map((name) => [name.replace('_', ' '), `${formatCredits(row[name])} per million tokens`]),
  )
}
