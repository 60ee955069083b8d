import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { CONFIGURABLE_FIELDS } from '../../rules/calls/route-fields.ts'
import type { Figures } from '../../rules/catalogue/figures.ts'
import { MODEL_KINDS, priceProblemOf, type ModelKind } from '../../rules/catalogue/model-kinds.ts'
import type { Classes } from '../../rules/catalogue/margins.ts'
import { parseCredits } from '../../rules/money.ts'
import { CliError } from '../failures.ts'
import { allClassesOf } from './prices.ts'

/** The files that come with Parley; the newest is used unless another is named. */
const VENDORED = join(import.meta.dirname, '../../../prices')

/** As text, because a JSON number is a double and prices are exact. */
const dollars = z.string().transform((text, context) => {
  try {
    return parseCredits(text)
  } catch {
    context.addIssue('must be dollars per million tokens like "0.15", as text')
    return z.NEVER
  }
})
const tokens = z.int().min(1).max(1_000_000_000)
const figure = z.int().min(0).max(10_000_000)
const model = z.strictObject({
  /** The name that callers use. Absent: the provider's. */
  id: z.string().min(1).max(128).optional(),
  kind: z.enum(MODEL_KINDS).default('chat'),
  owned_by: z.string().min(1).max(100),
  context_window: tokens.optional(),
  max_output_tokens: tokens.optional(),
  image_tokens: figure.optional(),
  file_tokens: figure.optional(),
  tool_tokens: figure.optional(),
  reasoning_tokens: figure.optional(),
  input: dollars,
  cached_input: dollars.optional(),
  cache_write: dollars.optional(),
  /** Needed but for embedding models, which write nothing. */
  output: dollars.optional(),
  reasoning: dollars.optional(),
  unsupported_fields: z.array(z.enum(CONFIGURABLE_FIELDS)).default([]),
})
const file = z.strictObject({
  as_of: z.iso.date(),
  note: z.string().optional(),
  /** By the name of the preset, then by the name that the provider has for the model. */
  providers: z.record(z.string(), z.record(z.string().min(1).max(300), model)),
})

export interface PriceFile {
  /** Kept with each price that comes from it. */
  name: string
  asOf: string
  note: string | undefined
  providers: ReadonlyMap<string, readonly ListedModel[]>
}

export interface ListedModel {
  id: string
  kind: ModelKind
  upstreamModel: string
  ownedBy: string
  contextWindow: number | undefined
  maxOutputTokens: number | undefined
  figures: Figures
  cost: Classes
  unsupportedFields: string[]
}

export async function readPriceFile(path: string | undefined): Promise<PriceFile> {
  const chosen = path ?? (await newestVendored())
  const result = file.safeParse(await readJson(chosen))
  if (!result.success) {
    const [issue] = result.error.issues
    throw new CliError(`${chosen} is not a price file: ${issue?.path.join('.')} ${issue?.message}.`)
  }
  const { as_of: asOf, note, providers } = result.data
  return {
    name: basename(chosen).slice(0, 100),
    asOf,
    note,
    providers: new Map(
      Object.entries(providers).map(([preset, models]) => [
        preset,
        Object.entries(models).map(([upstreamModel, listed]) => listedModelOf(upstreamModel, listed)),
      ]),
    ),
  }
}

function listedModelOf(upstreamModel: string, listed: z.output<typeof model>): ListedModel {
  const id = listed.id ?? upstreamModel
  const { kind, input, output = kind === 'embedding' ? 0n : undefined } = listed
  if (output === undefined) throw new CliError(`${id} has no output price in the price file.`)
  const cost = allClassesOf({
    input,
    output,
    cachedInput: listed.cached_input,
    cacheWrite: listed.cache_write,
    reasoning: listed.reasoning,
  })
  const problem = priceProblemOf(kind, cost)
  if (problem !== undefined) throw new CliError(`${id} has a wrong price in the price file. ${problem}`)
  return {
    id,
    kind,
    upstreamModel,
    ownedBy: listed.owned_by,
    contextWindow: listed.context_window,
    maxOutputTokens: listed.max_output_tokens,
    figures: {
      image: listed.image_tokens,
      file: listed.file_tokens,
      tool: listed.tool_tokens,
      reasoning: listed.reasoning_tokens,
    },
    cost,
    unsupportedFields: listed.unsupported_fields,
  }
}

async function newestVendored(): Promise<string> {
  const names = (await readdir(VENDORED)).filter((name) => name.endsWith('.json')).toSorted()
  return join(VENDORED, names.at(-1) ?? 'prices.json')
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    const why = error instanceof SyntaxError ? 'is not JSON' : 'cannot be read'
    throw new CliError(`The price file ${path} ${why}. Check --file.`)
  }
}
