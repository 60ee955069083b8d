import { formatMargin } from '../../rules/catalogue/margins.ts'
import { formatCredits } from '../../rules/money.ts'
import { changesOf, type ImportPlan, type ModelChange } from '../../rules/catalogue/price-import.ts'
import type { FieldAddition } from '../../rules/catalogue/unsupported-fields.ts'
import type { PriceFile } from './price-file.ts'
import { priceCells, priceDocument } from './prices.ts'
import { table } from '../print.ts'

/** All changes that an import would make. */
export interface WholePlan extends ImportPlan {
  /** Additions to the unsupported fields of routes that are there. */
  fields: FieldAddition[]
}

/** Describes an import's changes for people: first what is new, then what is dearer or cheaper, then what is odd. */
export function planText(file: PriceFile, plan: WholePlan): string {
  const fresh = plan.changes.filter((change) => change.isNew)
  const old = plan.changes.filter((change) => !change.isNew)
  return [
    `${file.name}, as of ${file.asOf}.${file.note === undefined ? '' : ` ${file.note}`}`,
    section('New models', fresh.map(newModelRow)),
    section('Changed prices, per million tokens', old.flatMap(priceRows)),
    section('Changed models', old.filter((change) => change.hasNewFacts).map(factsRow)),
    section('New routes', plan.changes.flatMap(routeRows)),
    section('Changed costs', plan.changes.flatMap(costRows)),
    section('Added to what routes do not support', plan.fields.map(fieldsRow)),
    ...plan.warnings.map((warning) => `Warning: ${warning}.`),
    ...plan.refused.map(({ id, why }) => `Refused: ${id}: ${why.join('; ')}.`),
    plan.changes.length + plan.unchanged === 0 ? '' : `Unchanged models: ${plan.unchanged}.`,
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

function section(title: string, rows: Parameters<typeof table>[0]): string {
  return rows.length === 0 ? '' : `${title}\n${table(rows, '')}`
}

function newModelRow({ id, facts, price }: ModelChange) {
  return {
    model: id,
    kind: facts.kind,
    'owned by': facts.ownedBy,
    context: facts.contextWindow,
    'max output': facts.maxOutputTokens,
    margin: formatMargin(facts.marginBps),
    ...(price && priceCells(price.to)),
  }
}

function priceRows({ id, price }: ModelChange) {
  if (!price) return []
  const { from, to } = price
  if (!from)
    return [{ model: id, class: 'all', old: 'none', new: Object.values(priceCells(to)).join(' '), change: '-' }]
  return changesOf({ from, to }).map(({ name, tenths }) => ({
    model: id,
    class: name,
    old: formatCredits(from[name]),
    new: formatCredits(to[name]),
    change: tenths === undefined ? '-' : percentOf(tenths),
  }))
}

function percentOf(tenths: bigint): string {
  const size = tenths < 0n ? -tenths : tenths
  return `${tenths < 0n ? '-' : '+'}${size / 10n}.${size % 10n}%`
}

function factsRow({ id, facts }: ModelChange) {
  return {
    model: id,
    'owned by': facts.ownedBy,
    context: facts.contextWindow,
    'max output': facts.maxOutputTokens,
    margin: formatMargin(facts.marginBps),
  }
}

function routeRows({ id, deployments, position }: ModelChange) {
  return deployments.map((route) => ({
    model: id,
    route: `${route.provider}/${route.upstreamModel}`,
    position,
    unsupported: route.unsupportedFields,
  }))
}

function costRows({ id, costs }: ModelChange) {
  return costs.map(({ provider, to }) => ({ model: id, provider, ...priceCells(to) }))
}

function fieldsRow({ route, fields }: FieldAddition) {
  return { model: route.modelId, route: `${route.provider}/${route.upstreamModel}`, added: fields }
}

export function planDocument(file: PriceFile, plan: WholePlan) {
  return {
    file: file.name,
    as_of: file.asOf,
    unchanged: plan.unchanged,
    warnings: plan.warnings,
    refused: plan.refused,
    changes: plan.changes.map(({ id, isNew, facts, price, deployments, position, costs }) => ({
      model: id,
      kind: facts.kind,
      is_new: isNew,
      owned_by: facts.ownedBy,
      context_window: facts.contextWindow,
      max_output_tokens: facts.maxOutputTokens,
      margin_bps: facts.marginBps,
      old_price: price?.from ? priceDocument(price.from) : null,
      new_price: price ? priceDocument(price.to) : null,
      new_routes: deployments.map(({ provider, upstreamModel }) => {
        return { provider, upstream_model: upstreamModel, position }
      }),
      changed_costs: costs.length,
    })),
    added_unsupported_fields: plan.fields.map(({ route, fields }) => {
      return { model: route.modelId, route: route.id, provider: route.provider, fields }
    }),
  }
}
