import { uuidv7 } from '../../src/platform/uuid.ts'
import type { PromptContent } from '../../src/rules/projects/saved-prompts.ts'
import type { Db } from '../../src/store/database.ts'
import { insertSavedPrompt, type SavedPrompt } from '../../src/store/projects/saved-prompts.ts'

/** The content of a saved prompt that asks this question. */
export function promptOf(question: string): PromptContent {
  const messages = [{ role: 'user' as const, content: question }]
  return { system: 'You are the editor.', messages, temperature: 0.5, maxTokens: null, stream: true }
}

export async function addSavedPrompt(db: Db, projectId: string, more: Partial<SavedPrompt> = {}): Promise<string> {
  const id = more.id ?? uuidv7()
  const prompt = { name: 'Headlines', model: 'sim-small', content: promptOf('Three headlines.'), ...more, id }
  await insertSavedPrompt(db, projectId, prompt, null)
  return id
}
