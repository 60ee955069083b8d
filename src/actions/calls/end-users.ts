import { NO_LIMITS, replaceLimits } from '../../store/billing/limits.ts'
import { deleteEndUser } from '../../store/calls/end-users.ts'
import type { Tx } from '../../store/database.ts'
import { lockProject } from '../../store/projects/projects.ts'
import type { Actor } from '../actor.ts'
import { auditProject, type ProjectAtHand } from '../audit.ts'
import { notThere } from '../refusals.ts'

/**
 * Their label, days, limits and counts are erased, and the metadata of their calls; the counts of calls that still run stay until the worker takes them away.
 * Calls are append-only and keep the digest, which says nothing to anybody who does not know the publisher's own id for them.
 */
export async function eraseEndUser(
  tx: Tx,
  actor: Actor,
  { project, endUserId }: { project: ProjectAtHand; endUserId: string },
): Promise<void> {
  const { id: projectId, publisherId } = project
  if (!(await lockProject(tx, projectId))) throw notThere('project')
  if (!(await deleteEndUser(tx, { projectId, id: endUserId }))) throw notThere('end user')
  await replaceLimits(tx, { scope: 'end_user', subject: endUserId, publisherId, projectId }, NO_LIMITS)
  await auditProject(tx, actor, project, 'end_user.erased', { subject: endUserId })
}
