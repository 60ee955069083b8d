import { deleteConversation as erase } from '../../store/calls/conversations.ts'
import type { Tx } from '../../store/database.ts'
import type { Actor } from '../actor.ts'
import { auditProject, type ProjectAtHand } from '../audit.ts'
import { notThere } from '../refusals.ts'

/** Its text is erased for good, and its id answers 404 from then on. */
export async function deleteConversation(
  tx: Tx,
  actor: Actor,
  { project, conversationId }: { project: ProjectAtHand; conversationId: string },
): Promise<void> {
  if (!(await erase(tx, { projectId: project.id, id: conversationId }))) throw notThere('conversation')
  await auditProject(tx, actor, project, 'conversation.deleted', { subject: conversationId })
}
