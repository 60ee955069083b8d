import { sql } from 'kysely'
import { uuidv7 } from '../../platform/uuid.ts'
import { COST_COLUMNS, PRICE_COLUMNS } from '../../rules/billing/token-columns.ts'
import { TOKEN_CLASSES } from '../../rules/billing/usage.ts'
import type { ModelChange, Offer } from '../../rules/catalogue/price-import.ts'
import type { FieldAddition } from '../../rules/catalogue/unsupported-fields.ts'
import type { Db } from '../database.ts'
import { figureColumns } from './models.ts'

export interface PriceImport {
  changes: readonly ModelChange[]
  /** Additions to the unsupported fields of routes that are there. */
  fields: readonly FieldAddition[]
  effectiveFrom: Date
  /** The name of the file. */
  source: string
}

/** Everything or nothing, if it runs in a transaction: one statement for each table. */
export async function applyPriceImport(tx: Db, { changes, fields, effectiveFrom, source }: PriceImport): Promise<void> {
  await writeModels(
    tx,
    changes.filter((change) => change.hasNewFacts),
  )
  const prices = changes.flatMap(({ id, price }) => {
    return price ? [{ ...PRICE_COLUMNS.rowOf(price.to), model_id: id, effective_from: effectiveFrom, source }] : []
  })
  if (prices.length > 0) await tx.insertInto('price_versions').values(prices).execute()
  const deployments = changes.flatMap(({ deployments: offers, position }) =>
    offers.map((offer) => deploymentOf(offer, position)),
  )
  if (deployments.length > 0) await tx.insertInto('deployments').values(deployments).execute()
  await writeCosts(
    tx,
    changes.flatMap((change) => change.costs),
  )
  await addUnsupportedFields(tx, fields)
}

/** A model that is switched off stays so. */
async function writeModels(tx: Db, changes: readonly ModelChange[]): Promise<void> {
  if (changes.length === 0) return
  await tx
    .insertInto('models')
    .values(
      changes.map(({ id, facts }) => ({
        id,
        kind: facts.kind,
        owned_by: facts.ownedBy,
        context_window: facts.contextWindow,
        max_output_tokens: facts.maxOutputTokens,
        ...figureColumns(facts.figures),
        margin_bps: facts.marginBps,
      })),
    )
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet(({ ref }) => ({
        owned_by: ref('excluded.owned_by'),
        context_window: ref('excluded.context_window'),
        max_output_tokens: ref('excluded.max_output_tokens'),
        image_tokens: ref('excluded.image_tokens'),
        file_tokens: ref('excluded.file_tokens'),
        tool_tokens: ref('excluded.tool_tokens'),
        reasoning_tokens: ref('excluded.reasoning_tokens'),
        margin_bps: ref('excluded.margin_bps'),
      })),
    )
    .execute()
}

async function writeCosts(tx: Db, costs: ModelChange['costs']): Promise<void> {
  if (costs.length === 0) return
  const changes = COST_COLUMNS.names.map((name) => sql`${sql.id(name)} = ${sql.ref(`c.${name}`)}`)
  const columns = TOKEN_CLASSES.map((name) => sql`${costs.map(({ to }) => to[name].toString())}::int8[]`)
  await sql`update deployments d set ${sql.join(changes)}
    from unnest(${costs.map(({ deploymentId }) => deploymentId)}::uuid[], ${sql.join(columns)})
      as c (id, ${sql.join(COST_COLUMNS.names.map((name) => sql.id(name)))})
    where d.id = c.id`.execute(tx)
}

async function addUnsupportedFields(tx: Db, additions: readonly FieldAddition[]): Promise<void> {
  if (additions.length === 0) return
  const rows = JSON.stringify(additions.map(({ route: { id }, fields }) => ({ id, fields })))
  await sql`update deployments d set unsupported_fields = d.unsupported_fields || a.fields
    from json_to_recordset(${rows}) as a (id uuid, fields text[]) where d.id = a.id`.execute(tx)
}

function deploymentOf({ id, providerId, upstreamModel, unsupportedFields, cost }: Offer, position: number) {
  return {
    id: uuidv7(),
    model_id: id,
    provider_id: providerId,
    upstream_model: upstreamModel,
    position,
    unsupported_fields: unsupportedFields,
    ...COST_COLUMNS.rowOf(cost),
  }
}
