import { readFile } from 'node:fs/promises'
import { InvalidArgumentError, type Command } from 'commander'
import { addDeployment, removeDeployment } from '../../actions/catalogue/models.ts'
import { CONFIGURABLE_FIELDS, EMBEDDING_FIELDS, ROUTE_FIELDS } from '../../rules/calls/route-fields.ts'
import { formatCredits, type Nanos } from '../../rules/money.ts'
import { EMBEDDING_KINDS } from '../../providers/create-provider.ts'
import { extraBodyProblemOf } from '../../rules/upstreams/extra-body.ts'
import { kindOf } from '../../store/catalogue/catalogue.ts'
import { findModel, type NewDeployment } from '../../store/catalogue/models.ts'
import { findProvider } from '../../store/catalogue/providers.ts'
import { listOf, upstreamModelOf, wholeNumber } from '../arguments.ts'
import { CliError, expectId, orUnknown, unknownId } from '../failures.ts'
import { allClassesOf, priceDocument, priceOption } from './prices.ts'
import { facts, type Output } from '../print.ts'
import { addChange, EXAMPLE_ID, withStore, type Session } from '../session.ts'

const FIELDS = [...ROUTE_FIELDS, ...EMBEDDING_FIELDS].join(', ')
const TAKEN_FIELDS: readonly string[] = CONFIGURABLE_FIELDS

const GROUPS = `
Routes with the same --position are one group. Calls are spread over a group by --weight: 300 beside 100 is three calls
to one. The next position is for calls that its group could not answer.`

export function addRouteCommands(model: Command): void {
  const add = addChange(
    model,
    'route',
    'route a model to a provider',
    'parley model route gpt-small --provider openai --upstream-model gpt-4o-mini --cost-input 0.15 --cost-output 0.60',
  )
    .argument('<model>')
    .requiredOption('--provider <name>', 'who answers')
    .requiredOption('--upstream-model <name>', 'the provider’s name for the model', upstreamModelOf)
    .option(
      '--position <n>',
      'routes with the lowest position are tried first, then the next',
      wholeNumber(0, 1_000_000),
      0,
    )
    .option('--weight <n>', 'its share of calls among routes with the same position', wholeNumber(1, 1_000), 100)
    .option('--unsupported <fields>', `request fields it does not support, of: ${FIELDS}`, fieldsOf)
    .option('--extra-body <json>', 'default fields added to each request: a JSON object, or @FILE')
    .option('--connect-timeout-ms <ms>', 'to connect', wholeNumber(50, 60_000))
    .option('--first-token-timeout-ms <ms>', 'to the first chunk of the answer', wholeNumber(50, 600_000))
    .option('--idle-timeout-ms <ms>', 'between two chunks', wholeNumber(50, 600_000))
    .option('--total-timeout-ms <ms>', 'for the whole answer', wholeNumber(50, 3_600_000))
  addCostOptions(add).addHelpText('after', GROUPS).action(withStore(route))
  addChange(model, 'unroute', 'remove a route', `parley model unroute ${EXAMPLE_ID}`)
    .argument('<route>', 'its id, from "parley model show"')
    .action(withStore(unroute))
}

/**
 * Adds options for what the provider asks of the operator: dollars per million tokens. Without it, receipts have no upstream
 * cost.
 */
function addCostOptions(command: Command): Command {
  return command
    .addOption(priceOption('--cost-input <dollars>', 'what it asks per million prompt tokens'))
    .addOption(priceOption('--cost-output <dollars>', 'what it asks per million answer tokens'))
    .addOption(
      priceOption('--cost-cached-input <dollars>', 'the same for cached prompt tokens (default: --cost-input)'),
    )
    .addOption(priceOption('--cost-cache-write <dollars>', 'the same for cache writes (default: --cost-input)'))
    .addOption(priceOption('--cost-reasoning <dollars>', 'the same for reasoning tokens (default: --cost-output)'))
}

function fieldsOf(text: string): string[] {
  const fields = listOf(text)
  const unknown = fields.find((field) => !TAKEN_FIELDS.includes(field))
  if (unknown !== undefined) throw new InvalidArgumentError(`"${unknown}" is none of ${FIELDS}.`)
  return fields
}

async function extraBodyIn(written: string): Promise<Record<string, unknown>> {
  const extra = jsonIn(written.startsWith('@') ? await readExtraFile(written.slice(1)) : written)
  const problem = extraBodyProblemOf(extra)
  if (problem !== undefined) throw new CliError(problem)
  return extra as Record<string, unknown>
}

async function readExtraFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch {
    throw new CliError(`The file ${path} cannot be read. Check --extra-body.`)
  }
}

/** Undefined for what is no JSON: to whoever typed it, that is the same as no object. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

interface RouteOptions extends CostOptions {
  provider: string
  upstreamModel: string
  position: number
  weight: number
  unsupported?: string[]
  extraBody?: string
  connectTimeoutMs?: number
  firstTokenTimeoutMs?: number
  idleTimeoutMs?: number
  totalTimeoutMs?: number
}

interface CostOptions {
  costInput?: Nanos
  costOutput?: Nanos
  costCachedInput?: Nanos
  costCacheWrite?: Nanos
  costReasoning?: Nanos
}

function costOf(options: CostOptions): NewDeployment['cost'] {
  const { costInput: input, costOutput: output } = options
  const { costCachedInput: cachedInput, costCacheWrite: cacheWrite, costReasoning: reasoning } = options
  if (input !== undefined && output !== undefined) {
    return allClassesOf({ input, output, cachedInput, cacheWrite, reasoning })
  }
  if ([input, output, cachedInput, cacheWrite, reasoning].every((cost) => cost === undefined)) return undefined
  throw new CliError('The costs of a provider need both --cost-input and --cost-output. Give both, or neither.')
}

async function route({ db, actor, change }: Session, modelId: string, options: RouteOptions): Promise<Output> {
  const { provider: name, unsupported = [], extraBody: written, ...deployment } = options
  const cost = costOf(options)
  const extraBody = written === undefined ? undefined : await extraBodyIn(written)
  const provider = await findProvider(db, name)
  if (!provider) throw unknownId('provider', name)
  const model = await findModel(db, modelId)
  if (!model) throw unknownId('model', modelId)
  const makesEmbeddings = EMBEDDING_KINDS.has(provider.kind)
  if (kindOf(model) === 'embedding' && !makesEmbeddings) {
    const kinds = [...EMBEDDING_KINDS].join(', ')
    throw new CliError(
      `${modelId} is an embedding model, and ${name} does not offer embeddings. These kinds do: ${kinds}`,
    )
  }
  const wanted = { modelId, providerId: provider.id, unsupportedFields: unsupported, extraBody, cost, ...deployment }
  const id = await change((tx) => addDeployment(tx, actor, { deployment: wanted, provider: name, makesEmbeddings }))
  const { upstreamModel, position, weight } = options
  return {
    document: {
      id,
      model: modelId,
      provider: name,
      upstream_model: upstreamModel,
      position,
      weight,
      unsupported,
      extra_body: extraBody ?? null,
      cost: cost ? priceDocument(cost) : null,
    },
    text: facts({
      route: id,
      model: modelId,
      provider: name,
      'upstream model': upstreamModel,
      position,
      weight,
      unsupported,
      'extra body': extraBody && JSON.stringify(extraBody),
      'cost input/M': cost && formatCredits(cost.input),
      'cost output/M': cost && formatCredits(cost.output),
    }),
  }
}

async function unroute({ actor, change }: Session, id: string): Promise<Output> {
  expectId('route', id)
  await change((tx) => removeDeployment(tx, actor, { id })).catch(orUnknown('route', id))
  return { document: { id, enabled: false }, text: `Route ${id} is removed: new calls do not use it.` }
}
