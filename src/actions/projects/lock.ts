import type { Tx } from '../../store/database.ts'
import { lockProject } from '../../store/projects/projects.ts'
import { notThere } from '../refusals.ts'

/** For what gives a project a key or a domain, and for what deletes it. Whichever comes second sees the first. */
export async function expectProject(tx: Tx, id: string): Promise<void> {
  if (!(await lockProject(tx, id))) throw notThere('project')
}
