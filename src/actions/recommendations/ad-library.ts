import type { Tx } from '../../store/database.ts'
import { isLibraryPublic, setLibraryPublic } from '../../store/recommendations/ad-library.ts'
import { lockMonetization } from '../../store/recommendations/monetization.ts'
import type { Actor } from '../actor.ts'
import { auditProject, type ProjectAtHand } from '../audit.ts'

/** Whether everybody may see which recommendations stood in a project's replies. */
export async function changeAdLibrary(
  tx: Tx,
  actor: Actor,
  { project, isPublic }: { project: ProjectAtHand; isPublic: boolean },
): Promise<void> {
  await lockMonetization(tx, project.id)
  if ((await isLibraryPublic(tx, project.id)) === isPublic) return
  await setLibraryPublic(tx, project.id, isPublic)
  await auditProject(tx, actor, project, isPublic ? 'monetization.library_opened' : 'monetization.library_closed')
}
