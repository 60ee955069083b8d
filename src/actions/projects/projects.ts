import { uuidv7 } from '../../platform/uuid.ts'
import { EARNINGS_PENDING_DAYS } from '../../rules/clicks/earnings.ts'
import { formatCredits } from '../../rules/money.ts'
import { lockPublisher } from '../../store/accounts/publishers.ts'
import { requestCut, withdrawCut } from '../../store/calls/retention-cuts.ts'
import { listModels } from '../../store/catalogue/models.ts'
import { listServedModels } from '../../store/catalogue/served-models.ts'
import type { Tx } from '../../store/database.ts'
import * as store from '../../store/projects/projects.ts'
import { findEarnings } from '../../store/recommendations/earnings.ts'
import { dismissOnboarding as dismiss } from '../../store/projects/first-steps.ts'
import { eraseSavedPrompts } from '../../store/projects/saved-prompts.ts'
import type { Actor } from '../actor.ts'
import { auditProject, type ProjectAtHand } from '../audit.ts'
import { conflict, notThere, wrongField } from '../refusals.ts'
import { expectDomainName, newVerificationToken } from './domains.ts'
import { expectProject } from './lock.ts'

/** Each has Parley ask for a name and a file again and again, at whatever name its publisher wrote. */
const PROJECTS_MAX = 100
/** The log names at most this many that were added, and as many that were removed. */
const NAMED_MAX = 20

interface NewProject {
  publisherId: string
  name: string
  domain: string
  /** Below which nobody's project has its name. */
  sandboxDomain: string | undefined
  /** Lets a tenant's transaction see the project that is about to be made. */
  enter?: (projectId: string) => Promise<void>
}

export async function createProject(tx: Tx, actor: Actor, input: NewProject): Promise<ProjectAtHand> {
  const { publisherId, name, enter } = input
  const domain = expectDomainName(input.domain, 'domain', input.sandboxDomain)
  // Two that are made at once would each be counted as the last that there is room for.
  if (!(await lockPublisher(tx, publisherId))) throw notThere('publisher')
  if ((await store.listProjects(tx, publisherId)).length >= PROJECTS_MAX)
    throw conflict(`An account has at most ${PROJECTS_MAX} projects. Delete some first.`)
  const project = { id: uuidv7(), publisherId, name }
  await enter?.(project.id)
  const verificationToken = newVerificationToken()
  await store.insertProject(tx, { ...project, domain, verificationToken, domainVerifiedAt: null })
  await auditProject(tx, actor, project, 'project.created', { details: { domain } })
  return project
}

export async function renameProject(
  tx: Tx,
  actor: Actor,
  { project, name }: { project: ProjectAtHand; name: string },
): Promise<void> {
  await store.updateProject(tx, project.id, { name })
  await auditProject(tx, actor, project, 'project.renamed', { subject: name, details: { before: project.name } })
}

/**
 * Sets the models that a project may name; null: all. A model that is no longer served may stay in a list that has it; a new
 * one has to be there. An operator can allow one before it is served.
 */
export async function changeAllowedModels(
  tx: Tx,
  actor: Actor,
  { project, models: wanted }: { project: ProjectAtHand; models: string[] | null },
): Promise<void> {
  const { allowed_models: before } = await projectRow(tx, project.id)
  const models = wanted && [...new Set(wanted)].toSorted()
  const choices = actor.kind === 'operator' ? await listModels(tx) : await listServedModels(tx)
  const known = new Set([...choices.map(({ id }) => id), ...(before ?? [])])
  const unknown = models?.find((id) => !known.has(id))
  if (unknown !== undefined) throw wrongField('allowedModels', `There is no model ${unknown} to choose.`)
  await store.updateProject(tx, project.id, { allowed_models: models })
  const added = models?.filter((id) => !before?.includes(id)).slice(0, NAMED_MAX)
  const removed = before?.filter((id) => !models?.includes(id)).slice(0, NAMED_MAX)
  const details = { before: before?.length ?? 'all', after: models?.length ?? 'all', added, removed }
  await auditProject(tx, actor, project, 'project.models_changed', { details })
}

/** Text that is there follows a shorter time, and keeps the one that it was stored with when the new one is longer. */
export async function changeRetention(
  tx: Tx,
  actor: Actor,
  { project, days }: { project: ProjectAtHand; days: number },
): Promise<void> {
  const { content_retention_days: before } = await projectRow(tx, project.id)
  if (before === days) return
  await store.updateProject(tx, project.id, { content_retention_days: days })
  await (days < before ? requestCut(tx, project.id, days) : withdrawCut(tx, project.id))
  await auditProject(tx, actor, project, 'project.retention_changed', { details: { before, after: days } })
}

/** Undefined: stays as it is. Null: no limit. */
export type ProjectLimits = Pick<
  store.ProjectSettings,
  'requests_per_minute' | 'tokens_per_minute' | 'concurrent_calls'
>

export async function changeLimits(
  tx: Tx,
  actor: Actor,
  { project, limits }: { project: ProjectAtHand; limits: ProjectLimits },
): Promise<void> {
  const row = await projectRow(tx, project.id)
  await store.updateProject(tx, project.id, limits)
  const details = Object.fromEntries(
    Object.entries(limits)
      .filter(([, after]) => after !== undefined)
      .map(([name, after]) => [name, `${row[name as keyof ProjectLimits] ?? 'none'} → ${after ?? 'none'}`]),
  )
  await auditProject(tx, actor, project, 'project.limits_changed', { details })
}

/** The first steps of a project are done, and their list is put away. */
export async function dismissOnboarding(tx: Tx, actor: Actor, { project }: { project: ProjectAtHand }): Promise<void> {
  await dismiss(tx, project.id)
  await auditProject(tx, actor, project, 'onboarding.dismissed')
}

export async function deleteProject(
  tx: Tx,
  actor: Actor,
  { project, leavesCredit }: { project: ProjectAtHand; leavesCredit: boolean },
): Promise<void> {
  await expectProject(tx, project.id)
  const { balance_nanos: balance, owed_nanos: owed, domain } = await projectRow(tx, project.id)
  // Nobody could pay it any more, and the account's other projects would stay refused.
  if (owed > 0n)
    throw conflict(`${formatCredits(owed)} of credit is owed. Top up the wallet first: what is owed is paid by that.`)
  const { pending } = await findEarnings(tx, project.id)
  const left = creditLeftInWords(balance, pending)
  if (left !== undefined && !leavesCredit) {
    const release = pending > 0n ? `: earnings go to the wallet after ${EARNINGS_PENDING_DAYS} days` : ''
    throw conflict(`${left} left. Confirm that it may be lost, or use it first${release}.`)
  }
  await store.archiveProject(tx, project.id)
  await eraseSavedPrompts(tx, project.id)
  const details = { domain, balanceLeft: formatCredits(balance), pendingLeft: formatCredits(pending) }
  await auditProject(tx, actor, project, 'project.deleted', { details })
}

/** Says what nobody can use once the project is deleted, up to the word "left". Undefined: there is nothing. */
export function creditLeftInWords(balance: bigint, pending: bigint): string | undefined {
  const credit = balance > 0n ? `${formatCredits(balance)} of credit` : undefined
  const earnings = pending > 0n ? `${formatCredits(pending)} of pending earnings` : undefined
  if (credit && earnings) return `${credit} and ${earnings} are`
  return (credit ?? earnings) && `${credit ?? earnings} is`
}

async function projectRow(tx: Tx, id: string) {
  const row = await store.findProject(tx, id)
  if (!row) throw notThere('project')
  return row
}
