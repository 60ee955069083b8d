import { randomBytes } from 'node:crypto'
import { uuidv7 } from '../platform/uuid.ts'
import { trialClaimsOf } from '../rules/billing/trial-credit.ts'
import { LABEL_LENGTH, SANDBOX_LIMITS, SANDBOX_NAME, SANDBOX_REFUSALS, sandboxDomainOf } from '../rules/sandbox.ts'
import { lockPublisher } from '../store/accounts/publishers.ts'
import type { Tx } from '../store/database.ts'
import { insertSandbox, isSandbox } from '../store/projects/sandboxes.ts'
import type { Actor } from './actor.ts'
import { auditProject, type ProjectAtHand } from './audit.ts'
import { conflict, notThere } from './refusals.ts'

interface NewSandbox {
  publisherId: string
  /** The operator's own, below which sandboxes have their names. Undefined: there are none here. */
  sandboxDomain: string | undefined
}

/**
 * The project in which a publisher that was just activated can try everything, with its trial credit and without a domain of its
 * own. Undefined when nothing was made: there are none here, it is not activated, or it has or had one.
 */
export async function createSandbox(
  tx: Tx,
  actor: Actor,
  { publisherId, sandboxDomain }: NewSandbox,
): Promise<ProjectAtHand | undefined> {
  if (sandboxDomain === undefined) return undefined
  const publisher = await lockPublisher(tx, publisherId)
  if (!publisher) throw notThere('publisher')
  const project = { id: uuidv7(), publisherId, name: SANDBOX_NAME }
  const domain = sandboxDomainOf(randomBytes(LABEL_LENGTH), sandboxDomain)
  const isMade = await insertSandbox(tx, {
    ...project,
    ...SANDBOX_LIMITS,
    domain,
    // Nobody is shown it, and nothing looks for it.
    verificationToken: randomBytes(16).toString('hex'),
    // The name is the operator's and cost nobody anything: it is no claim.
    trialClaims: publisher.email === null ? null : trialClaimsOf(publisher.email, null),
  })
  if (!isMade) return undefined
  await auditProject(tx, actor, project, 'project.created', { details: { domain, isSandbox: true } })
  return project
}

/** For what is not possible in a sandbox. */
export async function refuseInSandbox(
  tx: Tx,
  { id }: Pick<ProjectAtHand, 'id'>,
  why: keyof typeof SANDBOX_REFUSALS,
): Promise<void> {
  if (await isSandbox(tx, id)) throw conflict(SANDBOX_REFUSALS[why])
}
