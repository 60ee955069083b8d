import { sql } from 'kysely'
import type { PromptContent } from '../../rules/projects/saved-prompts.ts'
import type { Db } from '../database.ts'

/** Prompts that a project's team keeps for the playground. */

export interface SavedPrompt {
  id: string
  name: string
  model: string
  content: PromptContent
}

/** Newest first, without their text, with who saved each last (if still a member). */
export async function listSavedPrompts(tx: Db, projectId: string, most: number) {
  return summaries(tx, projectId).orderBy('p.saved_at', 'desc').orderBy('p.id', 'desc').limit(most).execute()
}

export async function findSavedPrompt(tx: Db, projectId: string, id: string) {
  const row = await summaries(tx, projectId).select('p.content').where('p.id', '=', id).executeTakeFirst()
  return row && { ...row, content: row.content as PromptContent }
}

function summaries(tx: Db, projectId: string) {
  return tx
    .selectFrom('saved_prompts as p')
    .leftJoin('members as m', 'm.user_id', 'p.saved_by')
    .select(['p.id', 'p.name', 'p.model', 'p.saved_at as savedAt', 'm.name as savedBy'])
    .where('p.project_id', '=', projectId)
}

export async function countSavedPrompts(tx: Db, projectId: string): Promise<number> {
  const { prompts } = await tx
    .selectFrom('saved_prompts')
    .select(({ fn }) => fn.countAll<bigint>().as('prompts'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  return Number(prompts)
}

export async function insertSavedPrompt(
  tx: Db,
  projectId: string,
  { content, ...prompt }: SavedPrompt,
  savedBy: string | null,
): Promise<void> {
  await tx
    .insertInto('saved_prompts')
    .values({ ...prompt, project_id: projectId, content: JSON.stringify(content), saved_by: savedBy })
    .execute()
}

/** Returns what it was called before and is called now; undefined when there is none. */
export async function updateSavedPrompt(
  tx: Db,
  projectId: string,
  { id, name, model, content }: Partial<SavedPrompt> & { id: string },
  savedBy: string | null,
): Promise<{ before: string; name: string; model: string } | undefined> {
  const old = await tx
    .selectFrom('saved_prompts')
    .select(['name', 'model'])
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  if (!old) return undefined
  await tx
    .updateTable('saved_prompts')
    .set({
      ...(name !== undefined && { name }),
      ...(model !== undefined && { model }),
      ...(content !== undefined && { content: JSON.stringify(content) }),
      saved_by: savedBy,
      saved_at: sql`clock_timestamp()`,
    })
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .execute()
  return { before: old.name, name: name ?? old.name, model: model ?? old.model }
}

/** Returns its name and model; undefined when there is none. */
export async function deleteSavedPrompt(tx: Db, projectId: string, id: string) {
  return tx
    .deleteFrom('saved_prompts')
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .returning(['name', 'model'])
    .executeTakeFirst()
}

/** All of a project that is being deleted. */
export async function eraseSavedPrompts(tx: Db, projectId: string): Promise<void> {
  await tx.deleteFrom('saved_prompts').where('project_id', '=', projectId).execute()
}
