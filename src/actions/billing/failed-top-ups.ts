import type { OneByOne } from '../../platform/one-by-one.ts'
import type { Secrets } from '../../platform/secrets.ts'
import { formatCredits } from '../../rules/money.ts'
import { listUntold, takeUntold, type UntoldFailure } from '../../store/billing/top-ups/auto-top-ups.ts'
import type { Db } from '../../store/database.ts'
import { withTenant, type Tenants } from '../../store/tenancy.ts'
import { PARLEY } from '../actor.ts'
import { auditProject } from '../audit.ts'
import { mailAdmins } from '../mails.ts'

const TOLD_PER_RUN = 500

export interface FailedTopUpOptions {
  db: Db
  tenants: Tenants
  secrets: Secrets
  consoleUrl: string
}

/** Tells the admins of each project whose card was declined, once for each decline. */
export async function tellFailedTopUps(options: FailedTopUpOptions, oneByOne: OneByOne): Promise<void> {
  await oneByOne.each(await listUntold(options.db, TOLD_PER_RUN), (failed) => tell(options, failed))
}

async function tell({ tenants, secrets, consoleUrl }: FailedTopUpOptions, failed: UntoldFailure): Promise<void> {
  const { publisherId, projectId, project } = failed
  await withTenant(tenants, { publisherId, projectId }, async (tx) => {
    const untold = await takeUntold(tx, projectId)
    if (!untold) return
    const { failure: reason, pausedAt } = untold
    const amount = formatCredits(untold.amount)
    const isPaused = pausedAt !== null
    const place = { id: projectId, name: project, publisherId }
    const action = isPaused ? 'wallet.auto_top_up_paused' : 'wallet.auto_top_up_failed'
    await auditProject(tx, PARLEY, place, action, { details: { amount, reason } })
    const data = { project, amount, reason, isPaused, link: `${consoleUrl}/projects/${projectId}/wallet` }
    await mailAdmins(tx, secrets, { template: 'top_up_failed', data })
  })
}
