import { sql } from 'kysely'
import type { Db } from '../database.ts'

/** How far a project is with its first steps. Each is one look into an index. */
export interface FirstSteps {
  domainVerifiedAt: Date | null
  hasKeyPair: boolean
  /** Credit came into the wallet at least once, bought or given. */
  hasCredit: boolean
  dismissedAt: Date | null
  isSandbox: boolean
}

export async function findFirstSteps(tx: Db, projectId: string): Promise<FirstSteps> {
  const { rows } = await sql<FirstSteps>`
    select d.verified_at as "domainVerifiedAt", p.onboarding_dismissed_at as "dismissedAt",
      p.is_sandbox as "isSandbox",
      exists (select from key_pairs k where k.project_id = p.id and k.purpose = 'calls' and k.deleted_at is null)
        as "hasKeyPair",
      exists (select from transfers t where t.credit_account = p.id) as "hasCredit"
    from projects p left join domains d on d.project_id = p.id where p.id = ${projectId}`.execute(tx)
  const [steps] = rows
  if (!steps) throw new Error('a project without a row')
  return steps
}

export async function dismissOnboarding(tx: Db, projectId: string): Promise<void> {
  await tx
    .updateTable('projects')
    .set({ onboarding_dismissed_at: sql`coalesce(onboarding_dismissed_at, now())` })
    .where('id', '=', projectId)
    .execute()
}
