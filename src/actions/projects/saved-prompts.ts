import { uuidv7 } from '../../platform/uuid.ts'
import {
  promptBytes,
  promptProblemOf,
  SAVED_PROMPTS_MAX,
  type PromptContent,
} from '../../rules/projects/saved-prompts.ts'
import type { Tx } from '../../store/database.ts'
import * as store from '../../store/projects/saved-prompts.ts'
import type { Actor } from '../actor.ts'
import { auditProject, type ProjectAtHand } from '../audit.ts'
import { conflict, notThere, wrongField } from '../refusals.ts'
import { expectProject } from './lock.ts'

/** The log names a prompt and its model, and never its text. */

export async function savePrompt(
  tx: Tx,
  actor: Actor,
  { project, name, model, content }: { project: ProjectAtHand; name: string; model: string; content: PromptContent },
): Promise<string> {
  expectStorable(content)
  // Two that are saved at once would each be counted as the last that there is room for.
  await expectProject(tx, project.id)
  if ((await store.countSavedPrompts(tx, project.id)) >= SAVED_PROMPTS_MAX)
    throw conflict(`A project has at most ${SAVED_PROMPTS_MAX} saved prompts. Delete some first.`)
  const id = uuidv7()
  await store.insertSavedPrompt(tx, project.id, { id, name, model, content }, personOf(actor))
  const details = { model, bytes: promptBytes(content) }
  await auditProject(tx, actor, project, 'saved_prompt.created', { subject: name, details })
  return id
}

interface Changes {
  project: ProjectAtHand
  promptId: string
  name?: string | undefined
  /** The new request, in place of the old one. */
  asked?: { model: string; content: PromptContent } | undefined
}

export async function changeSavedPrompt(tx: Tx, actor: Actor, input: Changes): Promise<void> {
  const { project, promptId, name, asked } = input
  if (asked) expectStorable(asked.content)
  const changes = { id: promptId, ...(name !== undefined && { name }), ...asked }
  const saved = await store.updateSavedPrompt(tx, project.id, changes, personOf(actor))
  if (!saved) throw notThere('prompt')
  if (saved.name !== saved.before) {
    const details = { before: saved.before }
    await auditProject(tx, actor, project, 'saved_prompt.renamed', { subject: saved.name, details })
  }
  if (asked) {
    const details = { model: asked.model, bytes: promptBytes(asked.content) }
    await auditProject(tx, actor, project, 'saved_prompt.changed', { subject: saved.name, details })
  }
}

export async function deleteSavedPrompt(
  tx: Tx,
  actor: Actor,
  { project, promptId }: { project: ProjectAtHand; promptId: string },
): Promise<void> {
  const gone = await store.deleteSavedPrompt(tx, project.id, promptId)
  if (!gone) throw notThere('prompt')
  const details = { model: gone.model }
  await auditProject(tx, actor, project, 'saved_prompt.deleted', { subject: gone.name, details })
}

function expectStorable(content: PromptContent): void {
  const problem = promptProblemOf(content)
  if (problem !== undefined) throw wrongField('messages', problem)
}

function personOf(actor: Actor): string | null {
  return actor.kind === 'person' ? actor.id : null
}
