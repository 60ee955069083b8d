import { randomBytes } from 'node:crypto'
import type { Secrets } from '../../platform/secrets.ts'
import { dayOf } from '../../rules/projects/domain-labels.ts'
import {
  domainNameOf,
  domainStateOf,
  lapsesAtOf,
  standingAfter,
  type DomainState,
  type Findings,
} from '../../rules/projects/domains.ts'
import { grantTrialCredit } from '../../store/billing/trial-credit.ts'
import type { Tx } from '../../store/database.ts'
import * as store from '../../store/projects/domains.ts'
import { lockProject } from '../../store/projects/projects.ts'
import { PARLEY, type Actor } from '../actor.ts'
import { audit, auditProject, type ProjectAtHand } from '../audit.ts'
import { mailOwners } from '../mails.ts'
import { notThere, wrongField } from '../refusals.ts'
import { expectProject } from './lock.ts'

/** 128 bits: it is public once it stands in the DNS, but nobody can put it there before. */
export function newVerificationToken(): string {
  return randomBytes(16).toString('hex')
}

/** The name as DNS knows it, or a refusal of the field that it was written into. */
export function expectDomainName(text: string, field: string): string {
  const name = domainNameOf(text)
  if (name === undefined) throw wrongField(field, 'Write a domain that you own, like example.com or www.example.com.')
  return name
}

/** Another name has to be verified anew. */
export async function changeDomain(
  tx: Tx,
  actor: Actor,
  { project, name: text }: { project: ProjectAtHand; name: string },
): Promise<void> {
  const name = expectDomainName(text, 'name')
  await expectProject(tx, project.id)
  const before = await store.lockDomain(tx, project.id)
  if (before?.name === name) throw wrongField('name', 'This is the domain of the project already.')
  await store.setDomainName(tx, project.id, name, newVerificationToken())
  await auditProject(tx, actor, project, 'domain.changed', { subject: name, details: { before: before?.name } })
}

/** An operator's word, which no check takes back; or its end, after which a new proof is needed: the old record must not do. */
export async function setDomainVerified(
  tx: Tx,
  actor: Actor,
  { project, isVerified }: { project: ProjectAtHand; isVerified: boolean },
): Promise<void> {
  await expectProject(tx, project.id)
  const before = await store.lockDomain(tx, project.id)
  if (!before) throw notThere('project')
  await store.setDomainVerified(tx, project.id, isVerified ? new Date() : null)
  if (!isVerified) await store.setVerificationToken(tx, project.id, newVerificationToken())
  const details = { before: domainStateOf(before) }
  const action = isVerified ? 'domain.verified' : 'domain.unverified'
  await auditProject(tx, actor, project, action, { subject: before.name, details })
}

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
 * stands. Undefined when the domain was changed while it was being checked, or its project deleted: then the check is
 * about something else.
 */
export async function recordCheck(
  tx: Tx,
  options: RecordCheckOptions,
  check: FinishedCheck,
): Promise<store.Domain | undefined> {
  if (!(await lockProject(tx, check.projectId))) return undefined
  const domain = await store.lockDomain(tx, check.projectId)
  if (!domain || domain.name !== check.name || domain.token !== check.token) return undefined
  const now = new Date()
  const facts = { nowMs: now.getTime(), random: Math.random(), isAsked: check.isAsked }
  const standing = standingAfter(domain, check.findings, facts)
  await store.saveCheck(tx, check.projectId, standing, check.findings)
  const [before, after] = [domainStateOf(domain), domainStateOf(standing)]
  if (after === 'verified') await grantTrialCredit(tx, check.projectId)
  if (before !== after) await tell(tx, options, check, { before, after, lapsesOn: dayOf(lapsesAtOf(standing)) })
  return { ...domain, ...standing, checkedAt: now, findings: check.findings }
}

async function tell(
  tx: Tx,
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
  // Also when a person asked for the check: what it found is not their doing.
  await audit(tx, PARLEY, { publisherId, projectId }, `domain.${after}`, { subject: name, details: { before } })
}
