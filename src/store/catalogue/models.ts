import { sql, type Updateable } from 'kysely'
import type { Figures } from '../../rules/catalogue/figures.ts'
import type { ModelKind } from '../../rules/catalogue/model-kinds.ts'
import { COST_COLUMNS, PRICE_COLUMNS } from '../../rules/billing/token-columns.ts'
import type { PerClass } from '../../rules/billing/usage.ts'
import type { Db } from '../database.ts'
import type { Models } from '../schema.gen.ts'

export interface NewModel {
  id: string
  /** Absent: one for chats. */
  kind?: ModelKind
  ownedBy: string
  contextWindow: number | null
  maxOutputTokens: number | null
  figures?: Partial<Figures>
}

/** Adds a model, or changes what is known of it. */
export async function upsertModel(db: Db, model: NewModel): Promise<void> {
  const facts = {
    owned_by: model.ownedBy,
    context_window: model.contextWindow,
    max_output_tokens: model.maxOutputTokens,
    ...figureColumns(model.figures ?? {}),
  }
  await db
    .insertInto('models')
    .values({ id: model.id, kind: model.kind, ...facts })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ ...facts, enabled: true }))
    .execute()
}

export function figureColumns({ image, file, tool, reasoning }: Partial<Figures>) {
  return {
    image_tokens: image ?? null,
    file_tokens: file ?? null,
    tool_tokens: tool ?? null,
    reasoning_tokens: reasoning ?? null,
  }
}

export type ModelChange = Updateable<Omit<Models, 'id' | 'kind' | 'enabled' | 'created_at'>>

/** Returns false when there is no such model. */
export async function updateModel(db: Db, id: string, change: ModelChange): Promise<boolean> {
  const result = await db.updateTable('models').set(change).where('id', '=', id).executeTakeFirst()
  return result.numUpdatedRows > 0n
}

export async function findModel(db: Db, id: string) {
  return db.selectFrom('models').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Every model, also those that are switched off, with the price in force (at that time, or now), if there is one. */
export async function listModels(db: Db, at?: Date) {
  return db
    .selectFrom('models as m')
    .leftJoin('price_versions as v', (join) =>
      join.on(
        'v.id',
        '=',
        sql<bigint>`(select id from price_versions where model_id = m.id
          and effective_from <= coalesce(${at ?? null}::timestamptz, now())
          order by effective_from desc limit 1)`,
      ),
    )
    .select([
      'm.id',
      'm.kind',
      'm.owned_by',
      'm.context_window',
      'm.max_output_tokens',
      'm.image_tokens',
      'm.file_tokens',
      'm.tool_tokens',
      'm.reasoning_tokens',
      'm.enabled',
      'm.margin_bps',
      ...PRICE_COLUMNS.names.map((name) => `v.${name}` as const),
    ])
    .orderBy('m.id')
    .execute()
}

/** The versions of a model's price, newest first. */
export async function listPrices(db: Db, modelId: string, most: number) {
  return db
    .selectFrom('price_versions')
    .selectAll()
    .where('model_id', '=', modelId)
    .orderBy('effective_from', 'desc')
    .limit(most)
    .execute()
}

/** Returns false when there is no such model. */
export async function setModelEnabled(db: Db, id: string, enabled: boolean): Promise<boolean> {
  const result = await db.updateTable('models').set({ enabled }).where('id', '=', id).executeTakeFirst()
  return result.numUpdatedRows > 0n
}

export interface NewPrice extends PerClass<bigint> {
  modelId: string
  effectiveFrom: Date
}

/** Prices are never edited: a new version takes effect beside the old one, which running calls keep. */
export async function insertPrice(db: Db, price: NewPrice): Promise<bigint> {
  const row = await db
    .insertInto('price_versions')
    .values({
      model_id: price.modelId,
      ...PRICE_COLUMNS.rowOf(price),
      effective_from: price.effectiveFrom,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return row.id
}

export interface NewDeployment {
  id: string
  modelId: string
  providerId: string
  upstreamModel: string
  position: number
  weight?: number
  unsupportedFields: string[]
  /** Sent with every request, where the request says nothing else. */
  extraBody?: Record<string, unknown>
  connectTimeoutMs?: number
  firstTokenTimeoutMs?: number
  idleTimeoutMs?: number
  totalTimeoutMs?: number
  /** The provider's own prices, which the operator pays, if they are known. */
  cost?: PerClass<bigint>
}

export async function insertDeployment(db: Db, deployment: NewDeployment): Promise<void> {
  await db
    .insertInto('deployments')
    .values({
      id: deployment.id,
      model_id: deployment.modelId,
      provider_id: deployment.providerId,
      upstream_model: deployment.upstreamModel,
      position: deployment.position,
      weight: deployment.weight,
      unsupported_fields: deployment.unsupportedFields,
      extra_body: deployment.extraBody === undefined ? null : JSON.stringify(deployment.extraBody),
      connect_timeout_ms: deployment.connectTimeoutMs ?? null,
      first_token_timeout_ms: deployment.firstTokenTimeoutMs ?? null,
      idle_timeout_ms: deployment.idleTimeoutMs ?? null,
      total_timeout_ms: deployment.totalTimeoutMs ?? null,
      ...(deployment.cost && COST_COLUMNS.rowOf(deployment.cost)),
    })
    .execute()
}

/** Returns its model; undefined when there is no such deployment. */
export async function setDeploymentEnabled(db: Db, id: string, enabled: boolean): Promise<string | undefined> {
  const row = await db
    .updateTable('deployments')
    .set({ enabled })
    .where('id', '=', id)
    .returning('model_id')
    .executeTakeFirst()
  return row?.model_id
}

export async function listDeployments(db: Db) {
  return db
    .selectFrom('deployments as d')
    .innerJoin('providers as p', 'p.id', 'd.provider_id')
    .innerJoin('models as m', 'm.id', 'd.model_id')
    .select([
      'd.id',
      'd.model_id',
      'm.kind as model_kind',
      'd.provider_id',
      'p.name as provider',
      'p.enabled as provider_enabled',
      'd.upstream_model',
      'd.position',
      'd.weight',
      'd.enabled',
      'd.unsupported_fields',
      'd.extra_body',
      ...COST_COLUMNS.names.map((name) => `d.${name}` as const),
    ])
    .orderBy('d.model_id')
    .orderBy('d.position')
    .execute()
}
