import { uuidv7 } from '../../platform/uuid.ts'
import type { PerClass } from '../../rules/billing/usage.ts'
import { priceProblemOf, type ModelKind } from '../../rules/catalogue/model-kinds.ts'
import type { ImportPlan } from '../../rules/catalogue/price-import.ts'
import type { FieldAddition } from '../../rules/catalogue/unsupported-fields.ts'
import { formatCredits } from '../../rules/money.ts'
import { kindOf, lockCatalogue } from '../../store/catalogue/catalogue.ts'
import * as store from '../../store/catalogue/models.ts'
import type { NewDeployment, NewModel, NewPrice } from '../../store/catalogue/models.ts'
import { applyPriceImport } from '../../store/catalogue/price-import.ts'
import type { Tx } from '../../store/database.ts'
import type { Actor } from '../actor.ts'
import { auditInstallation } from '../audit.ts'
import { conflict, notThere } from '../refusals.ts'

/** The models that callers can name, what they cost, and who answers them. */

export async function addModel(
  tx: Tx,
  actor: Actor,
  { model, price }: { model: NewModel; price: NewPrice },
): Promise<void> {
  if (await store.findModel(tx, model.id)) throw conflict(`There is already a model ${model.id}.`)
  expectPrice(model.kind ?? 'chat', price)
  await store.upsertModel(tx, model)
  await store.insertPrice(tx, price)
  await auditInstallation(tx, actor, 'model.added', {
    subject: model.id,
    details: { ...(model.kind === 'embedding' && { kind: model.kind }), ...priceDetails(price) },
  })
}

export async function changeModel(
  tx: Tx,
  actor: Actor,
  { id, change }: { id: string; change: store.ModelChange },
): Promise<void> {
  if (!(await store.updateModel(tx, id, change))) throw notThere('model')
  const details = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
  await auditInstallation(tx, actor, 'model.changed', { subject: id, details })
}

export async function setModelEnabled(
  tx: Tx,
  actor: Actor,
  { id, isEnabled }: { id: string; isEnabled: boolean },
): Promise<void> {
  if (!(await store.setModelEnabled(tx, id, isEnabled))) throw notThere('model')
  await auditInstallation(tx, actor, isEnabled ? 'model.enabled' : 'model.disabled', { subject: id })
}

/** Prices are never edited: a new version takes effect beside the old one. Returns its number. */
export async function addPrice(tx: Tx, actor: Actor, { price }: { price: NewPrice }): Promise<bigint> {
  const model = await store.findModel(tx, price.modelId)
  if (!model) throw notThere('model')
  expectPrice(kindOf(model), price)
  const version = await store.insertPrice(tx, price)
  const details = { version: String(version), ...priceDetails(price) }
  await auditInstallation(tx, actor, 'model.priced', { subject: price.modelId, details })
  return version
}

interface NewRoute {
  deployment: Omit<NewDeployment, 'id'>
  /** Its name, and whether its wire format has embeddings. */
  provider: string
  makesEmbeddings: boolean
}

/** Lets a provider answer a model. Returns the id of the new deployment. */
export async function addDeployment(
  tx: Tx,
  actor: Actor,
  { deployment, provider, makesEmbeddings }: NewRoute,
): Promise<string> {
  const model = await store.findModel(tx, deployment.modelId)
  if (!model) throw notThere('model')
  if (kindOf(model) === 'embedding' && !makesEmbeddings)
    throw conflict(`${provider} is of a kind that makes no embeddings, and ${model.id} is an embedding model.`)
  const id = uuidv7()
  await store.insertDeployment(tx, { ...deployment, id })
  const { modelId, upstreamModel, position, weight, extraBody } = deployment
  const details = { route: id, provider, upstreamModel, position, weight, ...(extraBody && { extraBody }) }
  await auditInstallation(tx, actor, 'model.route_added', { subject: modelId, details })
  return id
}

export async function removeDeployment(tx: Tx, actor: Actor, { id }: { id: string }): Promise<void> {
  const modelId = await store.setDeploymentEnabled(tx, id, false)
  if (modelId === undefined) throw notThere('route')
  await auditInstallation(tx, actor, 'model.route_removed', { subject: modelId, details: { route: id } })
}

interface PriceImport {
  plan: ImportPlan & { fields?: readonly FieldAddition[] }
  /** The version of the catalogue that the plan was made for. */
  version: bigint
  effectiveFrom: Date
  /** The name of the price file. */
  source: string
}

/** Applies what was shown and approved, or nothing. */
export async function importPrices(tx: Tx, actor: Actor, input: PriceImport): Promise<void> {
  const { plan, version, effectiveFrom, source } = input
  if ((await lockCatalogue(tx)) !== version)
    throw conflict(
      'The catalogue has changed in the meantime, so nothing was imported. Run the command again and review the changes.',
    )
  const { changes, fields = [] } = plan
  for (const { facts, price } of changes) if (price) expectPrice(facts.kind, price.to)
  await applyPriceImport(tx, { changes, fields, effectiveFrom, source })
  const added = Object.fromEntries(fields.map(({ route, fields: names }) => [route.id, names.join(' ')]))
  const details = {
    models: changes.length,
    new: changes.filter(({ isNew }) => isNew).length,
    effectiveFrom,
    ...(fields.length > 0 && { unsupportedFields: added }),
  }
  await auditInstallation(tx, actor, 'model.prices_imported', { subject: source, details })
}

/** Wherever a price is written: what vectors cost is their prompt, and a hold sets nothing else aside. */
function expectPrice(kind: ModelKind, price: PerClass<bigint>): void {
  const problem = priceProblemOf(kind, price)
  if (problem !== undefined) throw conflict(problem)
}

function priceDetails({ input, cachedInput, cacheWrite, output, reasoning, effectiveFrom }: NewPrice) {
  const perMillion = { input, cachedInput, cacheWrite, output, reasoning }
  return { perMillion: Object.values(perMillion).map(formatCredits).join(' '), effectiveFrom }
}
