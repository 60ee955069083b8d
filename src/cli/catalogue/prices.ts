import { Option, type Command } from 'commander'
import { addPrice } from '../../actions/catalogue/models.ts'
import { CLASS_COLUMNS, type ClassColumns } from '../../rules/billing/token-columns.ts'
import { TOKEN_CLASSES, type PerClass, type TokenClass } from '../../rules/billing/usage.ts'
import { priceProblemOf, type ModelKind } from '../../rules/catalogue/model-kinds.ts'
import { formatCredits, type Nanos } from '../../rules/money.ts'
import { kindOf } from '../../store/catalogue/catalogue.ts'
import { findModel, type NewPrice } from '../../store/catalogue/models.ts'
import { priceOf, timeOf } from '../arguments.ts'
import { CliError, codeOf, UNIQUE_VIOLATION, unknownId } from '../failures.ts'
import { facts, type Output } from '../print.ts'
import type { Session } from '../session.ts'

export type PriceOptions = Pick<PerClass<Nanos>, 'input'> & Partial<PerClass<Nanos>> & { effectiveFrom?: Date }

/** In dollars per million tokens of each class, of which two must be given, and one for an embedding model. */
export type PerMillion = Pick<PerClass<Nanos>, 'input' | 'output'> & Partial<PerClass<Nanos>>

/** All in US dollars per million tokens, as providers publish them. */
export function addPriceOptions(command: Command): Command {
  return command
    .addOption(priceOption('--input <dollars>', 'per million prompt tokens').makeOptionMandatory())
    .addOption(priceOption('--output <dollars>', 'per million answer tokens; not for embedding models'))
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

export function newPriceOf(model: { id: string; kind: ModelKind }, options: PriceOptions): NewPrice {
  const { output = model.kind === 'embedding' ? 0n : undefined } = options
  if (output === undefined) throw new CliError('A chat model needs a price for its answers. Give --output.')
  const classes = allClassesOf({ ...options, output })
  const problem = priceProblemOf(model.kind, classes)
  if (problem !== undefined) throw new CliError(`${problem} Leave out --output and --reasoning.`)
  if (options.effectiveFrom && options.effectiveFrom.getTime() < Date.now()) {
    throw new CliError('A price cannot take effect in the past. Leave out --effective-from to let it take effect now.')
  }
  return {
    modelId: model.id,
    ...classes,
    effectiveFrom: options.effectiveFrom ?? new Date(),
  }
}

/** Most providers ask the same for a cached prompt token as for any, and the same for a thought as for an answer. */
export function allClassesOf({ input, output, cachedInput, cacheWrite, reasoning }: PerMillion): PerClass<Nanos> {
  return {
    input,
    cachedInput: cachedInput ?? input,
    cacheWrite: cacheWrite ?? input,
    output,
    reasoning: reasoning ?? output,
  }
}

export async function setPrice(
  { db, actor, change }: Session,
  modelId: string,
  options: PriceOptions,
): Promise<Output> {
  const model = await findModel(db, modelId)
  if (!model) throw unknownId('model', modelId)
  const price = newPriceOf({ id: modelId, kind: kindOf(model) }, options)
  const id = await change((tx) => addPrice(tx, actor, { price })).catch((error: unknown) => {
    if (codeOf(error) !== UNIQUE_VIOLATION) throw error
    throw new CliError('This model already has a price from exactly that time. Choose another --effective-from.')
  })
  return {
    document: { model: modelId, price_version: id, effective_from: price.effectiveFrom, price: priceDocument(price) },
    text: facts({ model: modelId, version: id, 'effective from': price.effectiveFrom, ...priceFacts(price) }),
  }
}

/** Returns a row's amount for each class: all five, or none. */
export function classesIn<Name extends string>(
  columns: ClassColumns<Name>,
  row: Record<NoInfer<Name>, Nanos | null>,
): PerClass<Nanos> | undefined {
  const { input, cachedInput, cacheWrite, output, reasoning } = columns.valuesIn(row)
  if (input === null || cachedInput === null || cacheWrite === null || output === null || reasoning === null) return
  return { input, cachedInput, cacheWrite, output, reasoning }
}

export function priceDocument(price: PerClass<Nanos>): Record<string, Nanos> {
  return Object.fromEntries(TOKEN_CLASSES.map((name) => [`${CLASS_COLUMNS[name]}_per_million_nanos`, price[name]]))
}

/** The columns of a table. */
export function priceCells({ input, cachedInput, cacheWrite, output, reasoning }: PerClass<Nanos>) {
  return {
    'input/M': formatCredits(input),
    'cached/M': formatCredits(cachedInput),
    'cache write/M': formatCredits(cacheWrite),
    'output/M': formatCredits(output),
    'reasoning/M': formatCredits(reasoning),
  }
}

function priceFacts(price: PerClass<Nanos>): Record<string, string> {
  return Object.fromEntries(
    TOKEN_CLASSES.map((name) => [classLabel(name), `${formatCredits(price[name])} per million tokens`]),
  )
}

export function classLabel(name: TokenClass): string {
  return CLASS_COLUMNS[name].replace('_', ' ')
}
