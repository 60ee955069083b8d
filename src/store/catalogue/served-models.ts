import { sql } from 'kysely'
import type { ModelKind } from '../../rules/catalogue/model-kinds.ts'
import type { Db } from '../database.ts'

export interface ServedModel {
  id: string
  kind: ModelKind
  ownedBy: string
  contextWindow: number | null
  /** For a million tokens, at the price in force. */
  input: bigint
  output: bigint
}

/** Models that a call can name now: with a price and somewhere to go. Needs no more than what a tenant may read. */
export async function listServedModels(db: Db): Promise<ServedModel[]> {
  const { rows } = await sql<ServedModel>`
    select m.id, m.kind, m.owned_by as "ownedBy", m.context_window as "contextWindow", p.input, p.output from models m
      cross join lateral (
        select p.input, p.output from price_versions p where p.model_id = m.id and p.effective_from <= now()
        order by p.effective_from desc limit 1) p
    where m.enabled and exists (select from deployments d join providers v on v.id = d.provider_id
        where d.model_id = m.id and d.enabled and v.enabled)
    order by m.owned_by, m.id limit 1000`.execute(db)
  return rows
}
