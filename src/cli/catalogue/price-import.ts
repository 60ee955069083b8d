import { createInterface } from 'node:readline/promises'
import { InvalidArgumentError, type Command } from 'commander'
import { EMBEDDING_KINDS } from '../../providers/create-provider.ts'
import { importPrices } from '../../actions/catalogue/models.ts'
import { presetNamed } from '../../providers/presets.ts'
import { COST_COLUMNS, PRICE_COLUMNS } from '../../rules/billing/token-columns.ts'
import { planImport, type ImportPlan, type KnownModel, type Offer } from '../../rules/catalogue/price-import.ts'
import { visibleText } from '../../rules/visible-text.ts'
import { catalogueVersion } from '../../store/catalogue/catalogue.ts'
import type { Db } from '../../store/database.ts'
import { figuresOf, kindOf } from '../../store/catalogue/catalogue.ts'
import { listDeployments, listModels } from '../../store/catalogue/models.ts'
import { listProviders } from '../../store/catalogue/providers.ts'
import { marginOf, timeOf } from '../arguments.ts'
import { CliError, unknownId } from '../failures.ts'
import { fieldsForRoute, findMissingFields, presetOf, type MappedProvider } from './missing-fields.ts'
import { planDocument, planText, type WholePlan } from './price-import-diff.ts'
import { readPriceFile, type ListedModel, type PriceFile } from './price-file.ts'
import { classesIn } from './prices.ts'
import type { Provider } from './provider-keys.ts'
import type { Output } from '../print.ts'
import { addChange, withStore, type Session } from '../session.ts'

export function addImportCommand(model: Command): void {
  addChange(
    model,
    'import',
    'import models, prices and costs from a price file, after showing what would change',
    'parley model import --provider openai --only "gpt-5*" --margin 20',
  )
    .option('--file <path>', 'the price file (default: the newest that comes with Parley)')
    .option(
      '--provider <name=preset>',
      'a provider and whose prices it has; can be repeated (default: each provider that is named like a preset)',
      mappingsOf,
    )
    .option('--only <glob>', 'only models whose id matches, for example "claude-*"')
    .option('--margin <percent>', "added to the provider's price (default: each model's own)", marginOf)
    .option(
      '--effective-from <time>',
      'when prices take effect, for example 2026-12-01T00:00:00Z (default: now)',
      timeOf,
    )
    .option(
      '--unsupported-only',
      'only add the fields that existing routes do not support, by the file and the presets',
    )
    .option(
      '--allow <model>',
      'import this model even though its price looks like a mistake; can be repeated',
      listOfOne,
    )
    .option('--yes', 'apply it without asking')
    .action(withStore(importFile))
}

interface ImportOptions {
  file?: string
  provider?: Map<string, string>
  only?: string
  margin?: number
  effectiveFrom?: Date
  unsupportedOnly?: boolean
  allow?: string[]
  yes?: boolean
  json?: boolean
}

function mappingsOf(text: string, former: Map<string, string> = new Map()): Map<string, string> {
  const [name = '', preset = name, ...rest] = text.split('=')
  if (name === '' || preset === '' || rest.length > 0) {
    throw new InvalidArgumentError('Use a form like openai, or openai-eu=openai.')
  }
  return new Map([...former, [name, preset]])
}

function listOfOne(text: string, former: string[] = []): string[] {
  return [...former, text]
}

async function importFile({ db, actor, change }: Session, options: ImportOptions): Promise<Output> {
  if (options.effectiveFrom && options.effectiveFrom.getTime() < Date.now()) {
    throw new CliError('A price cannot take effect in the past. Leave out --effective-from to let it take effect now.')
  }
  const { margin, allow, effectiveFrom: from } = options
  if (options.unsupportedOnly && (margin !== undefined || allow || from)) {
    throw new CliError('--unsupported-only changes no price. Leave out --margin, --allow and --effective-from.')
  }
  const file = await readPriceFile(options.file)
  const version = await catalogueVersion(db)
  const plan = await planOf(db, file, options)
  const text = planText(file, plan)
  const end = (sentence: string, exitCode: number, applied = false): Output => {
    return { document: { ...planDocument(file, plan), applied }, text: `${text}\n\n${sentence}`, exitCode }
  }
  if (plan.changes.length + plan.fields.length === 0) return end('There is nothing to change.', 0)
  if (plan.refused.length > 0) {
    const ids = plan.refused.map(({ id }) => `--allow ${id}`).join(' ')
    return end(`Nothing was changed, because a price looks like a mistake. If it is correct: ${ids}`, 1)
  }
  const isAsked = !options.yes && !options.json && process.stdin.isTTY && process.stdout.isTTY
  if (isAsked) {
    if (!(await isApproved(text))) return { document: null, text: 'Nothing was changed.', exitCode: 1 }
  } else if (!options.yes) {
    return end('Nothing was changed. Use --yes to apply this.', 1)
  }
  const effectiveFrom = options.effectiveFrom ?? new Date()
  await change((tx) => importPrices(tx, actor, { plan, version, effectiveFrom, source: file.name }))
  return isAsked ? { document: null, text: 'Applied.' } : end('Applied.', 0, true)
}

const NOTHING: ImportPlan = { changes: [], unchanged: 0, refused: [], warnings: [] }

async function planOf(db: Db, file: PriceFile, options: ImportOptions): Promise<WholePlan> {
  const mapped = mappedProviders(await listProviders(db), file, options)
  const { only } = options
  const missing = await findMissingFields(db, file, mapped)
  const fields = missing.filter(({ route: { modelId } }) => only === undefined || matches(modelId, only))
  if (options.unsupportedOnly) return { ...NOTHING, fields }
  const offers = offersOf(file, mapped, options)
  const plan = planImport(offers, await knownModels(db, options.effectiveFrom), {
    marginBps: options.margin,
    allowed: new Set(options.allow),
  })
  const changed = new Set(plan.changes.map(({ id }) => id))
  const completed = new Set(fields.map(({ route: { modelId } }) => modelId))
  const others = new Set(offers.map(({ id }) => id).filter((id) => completed.has(id) && !changed.has(id)))
  return { ...plan, unchanged: plan.unchanged - others.size, fields }
}

/** In the order said. Where nothing was said, by name; what is only added to routes goes by the address, too. */
function mappedProviders(providers: readonly Provider[], file: PriceFile, options: ImportOptions): MappedProvider[] {
  if (!options.provider) {
    return providers.map((provider) => {
      const preset = options.unsupportedOnly ? presetOf(provider)?.name : undefined
      return { provider, preset: preset ?? provider.name }
    })
  }
  return [...options.provider].map(([name, preset]) => {
    const provider = providers.find((candidate) => candidate.name === name)
    if (!provider) throw unknownId('provider', name)
    const isKnown = file.providers.has(preset) || (options.unsupportedOnly && presetNamed(preset) !== undefined)
    if (isKnown) return { provider, preset }
    const known = [...file.providers.keys()].join(', ')
    throw new CliError(`${file.name} has no prices for ${preset}. It has prices for: ${known}`)
  })
}

async function isApproved(text: string): Promise<boolean> {
  console.log(visibleText(`${text}\n`))
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  terminal.on('SIGINT', () => process.exit(130))
  try {
    return /^y(es)?$/i.test((await terminal.question('Apply this? [y/N] ')).trim())
  } finally {
    terminal.close()
  }
}

function offersOf(file: PriceFile, mapped: readonly MappedProvider[], { only }: ImportOptions): Offer[] {
  const offers = mapped.flatMap((one) => (file.providers.get(one.preset) ?? []).map((model) => offerOf(model, one)))
  if (offers.length === 0) {
    throw new CliError(
      'No provider has the name of one in the price file. Map one, for example: --provider openai-eu=openai',
    )
  }
  const chosen = only === undefined ? offers : offers.filter(({ id }) => matches(id, only))
  if (chosen.length === 0) throw new CliError(`No model in ${file.name} matches ${only}. Check --only.`)
  return chosen
}

function offerOf(model: ListedModel, one: MappedProvider): Offer {
  const { id, name, kind } = one.provider
  if (model.kind === 'embedding' && !EMBEDDING_KINDS.has(kind))
    throw new CliError(
      `${model.id} is an embedding model, and ${name} does not offer embeddings. Choose models with --only.`,
    )
  return { ...model, provider: name, providerId: id, unsupportedFields: fieldsForRoute(one, model.unsupportedFields) }
}

/** `*` is any number of characters, `?` is one. */
function matches(id: string, glob: string): boolean {
  const pattern = glob
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.')
  return new RegExp(`^${pattern}$`).test(id)
}

async function knownModels(db: Db, at: Date | undefined): Promise<Map<string, KnownModel>> {
  const routes = Map.groupBy(await listDeployments(db), (route) => route.model_id)
  const models = await listModels(db, at)
  return new Map(
    models.map((model): [string, KnownModel] => [
      model.id,
      {
        id: model.id,
        kind: kindOf(model),
        ownedBy: model.owned_by,
        contextWindow: model.context_window,
        maxOutputTokens: model.max_output_tokens,
        figures: figuresOf(model),
        marginBps: model.margin_bps,
        price: classesIn(PRICE_COLUMNS, model),
        deployments: (routes.get(model.id) ?? []).map((route) => ({
          id: route.id,
          providerId: route.provider_id,
          upstreamModel: route.upstream_model,
          position: route.position,
          enabled: route.enabled,
          cost: classesIn(COST_COLUMNS, route),
        })),
      },
    ]),
  )
}
