import { sql } from 'kysely'
import { trialClaimsOf } from '../../rules/billing/trial-credit.ts'
import type { Db } from '../database.ts'

interface DueTrial {
  publisherId: string
  projectId: string
  email: string
  domain: string
  isSandbox: boolean
}

/** To a project whose domain was just verified. Returns false when nothing is due, or was granted for the same before. */
export async function grantTrialCredit(tx: Db, projectId: string): Promise<boolean> {
  const [due] = await listDueTrials(tx, 1, projectId)
  return due !== undefined && grant(tx, due)
}

/** Grants it to publishers activated, or vouched for, after their domain was verified. Returns how many were decided on. */
export async function grantDueTrialCredits(db: Db, most: number): Promise<number> {
  const due = await listDueTrials(db, most)
  for (const one of due) await grant(db, one)
  return due.length
}

/** Lists, for each publisher, its sandbox; where it has and had none, the first project with a verified domain. */
async function listDueTrials(db: Db, most: number, projectId?: string): Promise<DueTrial[]> {
  const query = db
    .selectFrom('publishers as p')
    .innerJoin('projects as j', 'j.publisher_id', 'p.id')
    .innerJoin('domains as d', 'd.project_id', 'j.id')
    .distinctOn('p.id')
    .select(['p.id as publisherId', 'j.id as projectId', 'p.email', 'd.name as domain', 'j.is_sandbox as isSandbox'])
    .where('p.trial_credit_nanos', '>', 0n)
    .where('p.activated_at', 'is not', null)
    .where('p.email', 'is not', null)
    .where('j.archived_at', 'is', null)
    .where('d.verified_at', 'is not', null)
    .where(({ or, eb, not, exists, selectFrom }) => {
      const sandboxes = selectFrom('projects as s').select('s.id').where('s.is_sandbox', '=', true)
      return or([eb('j.is_sandbox', '=', true), not(exists(sandboxes.whereRef('s.publisher_id', '=', 'p.id')))])
    })
    .$narrowType<{ email: string }>()
    .orderBy('p.id')
    .orderBy('j.created_at')
    .limit(most)
  return (projectId === undefined ? query : query.where('j.id', '=', projectId)).execute()
}

async function grant(db: Db, { publisherId, projectId, email, domain, isSandbox }: DueTrial): Promise<boolean> {
  const claims = trialClaimsOf(email, isSandbox ? null : domain)
  const { rows } = await sql<{ granted: boolean }>`
    select grant_trial_credit(${publisherId}, ${projectId}, ${claims}) as granted`.execute(db)
  return rows[0]?.granted ?? false
}
