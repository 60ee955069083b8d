import type { Secrets } from '../platform/secrets.ts'
import { dayOf } from '../rules/projects/domain-labels.ts'
import { domainStateOf, lapsesAtOf, standingAfter, type DomainState, type Findings } from '../rules/projects/domains.ts'
import { appendAuditLog } from '../store/accounts/audit-log.ts'
import type { Db } from '../store/database.ts'
import { lockDomain, saveCheck, type Domain } from '../store/projects/domains.ts'
import { mailOwners } from '../store/accounts/owner-mails.ts'
import { grantTrialCredit } from '../store/billing/trial-credit.ts'

export interface FinishedCheck {
  publisherId: string
  projectId: string
  /** What was checked. */
  name: string
  token: string
  findings: Findings
  /** By a person, and not by the clock. */
  isAsked: boolean
}

export interface RecordCheckOptions {
  secrets: Secrets
  /** The console's address, for links in mails. */
  consoleUrl: string
}

/**
 * Writes down what a check found, in a transaction of the tenant, and tells the owners when that changes how the domain
 * stands. Undefined when the domain was changed while it was being checked: then the check is about something else.
 */
export async function recordCheck(
  tx: Db,
  options: RecordCheckOptions,
  check: FinishedCheck,
): Promise<Domain | undefined> {
  const domain = await lockDomain(tx, check.projectId)
  if (!domain || domain.name !== check.name || domain.token !== check.token) return undefined
  const now = new Date()
  const facts = { nowMs: now.getTime(), random: Math.random(), isAsked: check.isAsked }
  const standing = standingAfter(domain, check.findings, facts)
  await saveCheck(tx, check.projectId, standing, check.findings)
  const [before, after] = [domainStateOf(domain), domainStateOf(standing)]
  if (after === 'verified') await grantTrialCredit(tx, check.projectId)
  if (before !== after) await tell(tx, options, check, { before, after, lapsesOn: dayOf(lapsesAtOf(standing)) })
  return { ...domain, ...standing, checkedAt: now, findings: check.findings }
}

async function tell(
  tx: Db,
  { secrets, consoleUrl }: RecordCheckOptions,
  { publisherId, projectId, name }: FinishedCheck,
  change: { before: DomainState; after: DomainState; lapsesOn: string },
): Promise<void> {
  const { before, after, lapsesOn } = change
  const link = `${consoleUrl}/projects/${projectId}/domain`
  if (after === 'verified') await mailOwners(tx, secrets, { template: 'domain_verified', data: { domain: name, link } })
  if (after === 'failing')
    await mailOwners(tx, secrets, { template: 'domain_failing', data: { domain: name, lapsesOn, link } })
  if (after === 'lapsed') await mailOwners(tx, secrets, { template: 'domain_lapsed', data: { domain: name, link } })
  await appendAuditLog(tx, {
    publisherId,
    // Nobody decides this: it follows from what the DNS says.
    actorId: null,
    actor: 'Parley',
    action: `domain.${after}`,
    subject: name,
    projectId,
    ip: null,
    userAgent: null,
    details: { before },
  })
}
