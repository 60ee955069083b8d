import { sql } from 'kysely'
import type { Db } from '../database.ts'

export interface ServedModel {
  id: string
  ownedBy: string
  contextWindow: number | null
}

/** Models that a call can name now: with a price and somewhere to go. Needs no more than what a tenant may read. */
export async function listServedModels(db: Db): Promise<ServedModel[]> {
  const { rows } = await sql<ServedModel>`
    select m.id, m.owned_by as "ownedBy", m.context_window as "contextWindow" from models m
    where m.enabled and exists (select from price_versions p where p.model_id = m.id and p.effective_from <= now())
      and exists (select from deployments d join providers v on v.id = d.provider_id
        where d.model_id = m.id and d.enabled and v.enabled)
    order by m.owned_by, m.id limit 1000`.execute(db)
  return rows
}
