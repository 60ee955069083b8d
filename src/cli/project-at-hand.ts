import type { ProjectAtHand } from '../actions/audit.ts'
import type { Db } from '../store/database.ts'
import { findProject } from '../store/projects/projects.ts'
import { expectId, unknownId } from './failures.ts'

export type Project = NonNullable<Awaited<ReturnType<typeof findProject>>>

export async function projectOf(db: Db, id: string): Promise<Project> {
  expectId('project', id)
  const project = await findProject(db, id)
  if (!project) throw unknownId('project', id)
  return project
}

/** As actions name it. */
export function projectAtHand({ id, name, publisher_id: publisherId }: Project): ProjectAtHand {
  return { id, name, publisherId }
}
