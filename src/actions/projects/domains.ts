import { randomBytes } from 'node:crypto'
import type { Secrets } from '../../platform/secrets.ts'
import { dayOf } from '../../rules/projects/domain-labels.ts'
import {
  domainOfAddress,
  domainStateOf,
  lapsesAtOf,
  standingAfter,
  type DomainState,
  type Findings,
} from '../../rules/projects/domains.ts'
import { isForSandboxes } from '../../rules/sandbox.ts'
import { grantTrialCredit } from '../../store/billing/trial-credit.ts'
import type { Tx } from '../../store/database.ts'
import * as store from '../../store/projects/domains.ts'
import { lockProject } from '../../store/projects/projects.ts'
import { PARLEY, type Actor } from '../actor.ts'
import { audit, auditProject, type ProjectAtHand } from '../audit.ts'
import { postEvent } from '../events.ts'
import { mailOwners } from '../mails.ts'
import { notThere, wrongField } from '../refusals.ts'
import { refuseInSandbox } from '../sandbox.ts'
import { expectProject } from './lock.ts'

/** 128 bits: it is public once it stands in the DNS, but nobody can put it there before. */
export function newVerificationToken(): string {
  return randomBytes(16).toString('hex')
}

/**
 * The name as DNS knows it, also of an address that was pasted, or a refusal of the field that it was written into. Names that
 * sandboxes are given are nobody's to claim.
 */
export function expectDomainName(text: string, field: string, sandboxDomain: string | undefined): string {
  const name = domainOfAddress(text)
  if (name === undefined) throw wrongField(field, 'Enter a domain that you own, like example.com or www.example.com.')
  if (isForSandboxes(name, sandboxDomain))
    throw wrongField(field, `${sandboxDomain} and all names below it are for sandboxes. Enter a domain that you own.`)
  return name
}

/** Another name has to be verified anew. */
export async function changeDomain(
  tx: Tx,
  actor: Actor,
  input: { project: ProjectAtHand; name: string; sandboxDomain: string | undefined },
): Promise<void> {
  const { project } = input
  const name = expectDomainName(input.name, 'name', input.sandboxDomain)
  await expectProject(tx, project.id)
  await refuseInSandbox(tx, project, 'domain')
  const before = await store.lockDomain(tx, project.id)
  if (before?.name === name) throw wrongField('name', 'The project already uses this domain.')
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
  await postStanding(tx, project.id, before.name, isVerified ? 'domain.verified' : 'domain.lapsed')
}

export interface FinishedCheck {
  publisherId: string
  projectId: string
  /** The name and the token that were checked. */
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
  // From failing it is verified again, which endpoints hear as the end of an alert.
  if ((after === 'verified' && before !== 'failing') || after === 'lapsed')
    await postStanding(tx, projectId, name, `domain.${after}`)
  // Also when a person asked for the check: what it found is not their doing.
  await audit(tx, PARLEY, { publisherId, projectId }, `domain.${after}`, { subject: name, details: { before } })
}

async function postStanding(
  tx: Tx,
  projectId: string,
  domain: string,
  type: 'domain.verified' | 'domain.lapsed',
): Promise<void> {
  await postEvent(tx, { projectId, type, objectKey: `domain:${projectId}`, data: { domain } })
}
