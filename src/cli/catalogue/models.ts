import { Argument, InvalidArgumentError, Option, type Command } from 'commander'
import { addModel, changeModel, setModelEnabled } from '../../actions/catalogue/models.ts'
import { PRICE_COLUMNS } from '../../rules/billing/token-columns.ts'
import { MODEL_KINDS, type ModelKind } from '../../rules/catalogue/model-kinds.ts'
import { formatMargin } from '../../rules/catalogue/margins.ts'
import { formatCredits } from '../../rules/money.ts'
import { findModel, listDeployments, listModels, listPrices } from '../../store/catalogue/models.ts'
import { marginOf, wholeNumber } from '../arguments.ts'
import { CliError, orUnknown, unknownId } from '../failures.ts'
import { addImportCommand } from './price-import.ts'
import {
  addPriceOptions,
  classesIn,
  newPriceOf,
  priceCells,
  priceDocument,
  setPrice,
  type PriceOptions,
} from './prices.ts'
import { facts, table, type Output } from '../print.ts'
import { addRouteCommands } from './routes.ts'
import { addChange, addCommand, withStore, type Session } from '../session.ts'

const TOKENS_MAX = 1_000_000_000
const FIGURE = wholeNumber(0, 10_000_000)
const PRICES_SHOWN = 20

export function addModelCommands(program: Command): void {
  const model = program.command('model').description('the models callers can use, their prices and their providers')
  const adding = addChange(
    model,
    'add',
    'add a model with its price in dollars per million tokens',
    'parley model add gpt-small --owned-by openai --context-window 128000 --max-output-tokens 16384 --input 0.15 --output 0.60',
  )
    .addArgument(new Argument('<model>', 'the id that callers use').argParser(modelIdOf))
    .requiredOption('--owned-by <name>', 'shown by GET /v1/models', ownerOf)
    .addOption(new Option('--kind <kind>', 'what it makes').choices(MODEL_KINDS).default('chat'))
  addPriceOptions(addSizeOptions(adding)).action(withStore(add))
  addCommand(model, 'list', 'show all models', 'parley model list').action(withStore(list))
  addCommand(model, 'show', 'show one model, its prices and its routes', 'parley model show gpt-small')
    .argument('<model>')
    .action(withStore(show))
  addSizeOptions(
    addChange(model, 'set', 'change the properties of a model', 'parley model set gpt-small --context-window 256000')
      .argument('<model>')
      .option('--owned-by <name>', 'shown by GET /v1/models', ownerOf)
      .option('--margin <percent>', 'the margin that the next price import adds to the provider’s price', marginOf),
  ).action(withStore(set))
  addChange(model, 'disable', 'refuse calls to a model (422)', 'parley model disable gpt-small')
    .argument('<model>')
    .action(withStore((session, id: string) => setEnabled(session, id, false)))
  addChange(model, 'enable', 'enable a model again', 'parley model enable gpt-small')
    .argument('<model>')
    .action(withStore((session, id: string) => setEnabled(session, id, true)))
  addPriceOptions(
    addChange(
      model,
      'price',
      'set a new price; running calls keep the old one',
      'parley model price gpt-small --input 0.10 --output 0.40 --effective-from 2026-01-31T00:00:00Z',
    ).argument('<model>'),
  ).action(withStore(setPrice))
  addRouteCommands(model)
  addImportCommand(model)
}

function addSizeOptions(command: Command): Command {
  return command
    .option('--context-window <tokens>', 'prompt and answer together', wholeNumber(1, TOKENS_MAX))
    .option('--max-output-tokens <tokens>', 'the longest answer it can write', wholeNumber(1, TOKENS_MAX))
    .option('--reasoning-tokens <tokens>', 'the most hidden reasoning tokens; 0: none unless requested', FIGURE)
    .option('--image-tokens <tokens>', 'the most tokens that one image in a prompt can be', FIGURE)
    .option('--file-tokens <tokens>', 'the most tokens that one file in a prompt can be', FIGURE)
    .option('--tool-tokens <tokens>', 'what one tool adds beyond the text of its definition', FIGURE)
}

interface Facts {
  ownedBy?: string
  contextWindow?: number
  maxOutputTokens?: number
  reasoningTokens?: number
  imageTokens?: number
  fileTokens?: number
  toolTokens?: number
}

function modelIdOf(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/.test(text)) return text
  throw new InvalidArgumentError(
    'It has 1 to 128 characters of A-Z a-z 0-9 . _ : / @ + - and begins with a letter or digit.',
  )
}

function ownerOf(text: string): string {
  if (text.length >= 1 && text.length <= 100) return text
  throw new InvalidArgumentError('It has 1 to 100 characters.')
}

interface AddOptions extends Facts, PriceOptions {
  ownedBy: string
  kind: ModelKind
}

async function add(session: Session, id: string, options: AddOptions): Promise<Output> {
  const price = newPriceOf({ id, kind: options.kind }, options)
  if (await findModel(session.db, id)) {
    throw new CliError(`There is already a model ${id}. Change it with: parley model set, price, enable or route`)
  }
  const { kind, ownedBy, contextWindow = null, maxOutputTokens = null } = options
  const { imageTokens: image, fileTokens: file, toolTokens: tool, reasoningTokens: reasoning } = options
  const figures = { image, file, tool, reasoning }
  const model = { id, kind, ownedBy, contextWindow, maxOutputTokens, figures }
  await session.change((tx) => addModel(tx, session.actor, { model, price }))
  const { document, text } = await show(session, id)
  return { document, text: `${text}\n\nNext: parley model route ${id} --provider NAME --upstream-model NAME` }
}

async function list({ db }: Session): Promise<Output> {
  const models = await listModels(db)
  const usable = (await listDeployments(db)).filter((route) => route.enabled && route.provider_enabled)
  const grouped = Map.groupBy(usable, (route) => route.model_id)
  const routesOf = ({ id }: Model) =>
    (grouped.get(id) ?? []).map(({ provider, upstream_model }) => `${provider}/${upstream_model}`)
  return {
    document: models.map((model) => modelDocument(model, routesOf(model))),
    text: table(
      models.map((model) => ({
        model: model.id,
        kind: model.kind,
        'owned by': model.owned_by,
        state: stateOf(model, routesOf(model)),
        'input/M': model.input === null ? null : formatCredits(model.input),
        'output/M': model.output === null ? null : formatCredits(model.output),
        routes: routesOf(model),
      })),
      'There are no models yet. Run "parley model add --help" to see how to add one.',
    ),
  }
}

type Model = Awaited<ReturnType<typeof listModels>>[number]

function stateOf(model: Model, routes: readonly string[]): string {
  if (!model.enabled) return 'disabled'
  if (model.input === null) return 'no price in force'
  return routes.length === 0 ? 'no route' : 'served'
}

function modelDocument(model: Model, routes: readonly string[]) {
  const { id, kind, owned_by, context_window, max_output_tokens, enabled } = model
  const classes = classesIn(PRICE_COLUMNS, model)
  const price = classes ? priceDocument(classes) : null
  const state = stateOf(model, routes)
  return { id, kind, state, owned_by, context_window, max_output_tokens, enabled, price, routes }
}

async function show({ db }: Session, id: string): Promise<Output> {
  const model = await findModel(db, id)
  if (!model) throw unknownId('model', id)
  const prices = await listPrices(db, id, PRICES_SHOWN)
  const routes = (await listDeployments(db)).filter((route) => route.model_id === id && route.enabled)
  const text = [
    facts({
      model: id,
      kind: model.kind,
      'owned by': model.owned_by,
      enabled: model.enabled,
      'context window': model.context_window,
      'max output tokens': model.max_output_tokens,
      'reasoning tokens': model.reasoning_tokens,
      'image tokens': model.image_tokens,
      'file tokens': model.file_tokens,
      'tool tokens': model.tool_tokens,
      margin: formatMargin(model.margin_bps),
    }),
    table(
      prices.map((price) => ({
        'effective from': price.effective_from,
        ...priceCells(PRICE_COLUMNS.valuesIn(price)),
        source: price.source,
      })),
      'It has no price, so it is not served.',
    ),
    table(
      routes.map((route) => ({
        route: route.id,
        position: route.position,
        weight: route.weight,
        provider: route.provider_enabled ? route.provider : `${route.provider} (disabled)`,
        'upstream model': route.upstream_model,
        unsupported: route.unsupported_fields,
        'extra body': route.extra_body === null ? null : JSON.stringify(route.extra_body),
        'cost input/M': route.cost_input === null ? null : formatCredits(route.cost_input),
        'cost output/M': route.cost_output === null ? null : formatCredits(route.cost_output),
      })),
      `It has no route, so it is not served. Add one with: parley model route ${id} --provider NAME --upstream-model NAME`,
    ),
  ]
  const versions = prices.map((price) => {
    const { id: version, effective_from, source } = price
    return { version, effective_from, source, price: priceDocument(PRICE_COLUMNS.valuesIn(price)) }
  })
  return { document: { ...model, prices: versions, routes }, text: text.join('\n\n') }
}

async function set(session: Session, id: string, options: Facts & { margin?: number }): Promise<Output> {
  const change = {
    owned_by: options.ownedBy,
    context_window: options.contextWindow,
    max_output_tokens: options.maxOutputTokens,
    reasoning_tokens: options.reasoningTokens,
    image_tokens: options.imageTokens,
    file_tokens: options.fileTokens,
    tool_tokens: options.toolTokens,
    margin_bps: options.margin,
  }
  if (Object.values(change).every((value) => value === undefined)) {
    throw new CliError('Nothing to change. Run "parley model set --help" to see the options.')
  }
  await session.change((tx) => changeModel(tx, session.actor, { id, change })).catch(orUnknown('model', id))
  return show(session, id)
}

async function setEnabled({ actor, change }: Session, id: string, enabled: boolean): Promise<Output> {
  await change((tx) => setModelEnabled(tx, actor, { id, isEnabled: enabled })).catch(orUnknown('model', id))
  return {
    document: { id, enabled },
    text: `Model ${id} is ${enabled ? 'enabled' : 'disabled: calls to it are refused'}.`,
  }
}
