import { perClass, TOKEN_CLASSES, type PerClass, type TokenClass } from './usage.ts'

/** How the classes of tokens are called where names have underscores: in SQL and in the public API. */
export const CLASS_COLUMNS = {
  input: 'input',
  cachedInput: 'cached_input',
  cacheWrite: 'cache_write',
  output: 'output',
  reasoning: 'reasoning',
} as const satisfies PerClass<string>
type ClassColumn = (typeof CLASS_COLUMNS)[TokenClass]

/** Five columns of a row, one for each class. */
export interface ClassColumns<Name extends string> {
  /** In the order of TOKEN_CLASSES. */
  readonly names: readonly Name[]
  rowOf<T>(values: PerClass<T>): Record<Name, T>
  valuesIn<T>(row: Record<Name, T>): PerClass<T>
}

function columnsNamed<Before extends string, After extends string>(
  before: Before,
  after: After,
): ClassColumns<`${Before}${ClassColumn}${After}`> {
  type Name = `${Before}${ClassColumn}${After}`
  const named = perClass((name): Name => `${before}${CLASS_COLUMNS[name]}${after}`)
  return {
    names: TOKEN_CLASSES.map((name) => named[name]),
    rowOf<T>(values: PerClass<T>) {
      const row = {} as Record<Name, T>
      for (const name of TOKEN_CLASSES) row[named[name]] = values[name]
      return row
    },
    valuesIn: (row) => perClass((name) => row[named[name]]),
  }
}

/** `input_tokens`, …: how many of each. */
export const TOKEN_COLUMNS = columnsNamed('', '_tokens')
/** `billed_input_tokens`, …: how many of those that were paid for. */
export const BILLED_TOKEN_COLUMNS = columnsNamed('billed_', '_tokens')
/** `input`, …: what each is sold for. */
export const PRICE_COLUMNS = columnsNamed('', '')
/** `cost_input`, …: what a provider asks for each. */
export const COST_COLUMNS = columnsNamed('cost_', '')
