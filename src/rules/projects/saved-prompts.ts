/** Prompts that a project's team keeps for the playground. */

/** The prompt, without the model. Its last message is the one in the composer. */
export interface PromptContent {
  system: string
  messages: { role: 'user' | 'assistant'; content: string }[]
  temperature: number | null
  maxTokens: number | null
  stream: boolean
}

export const SAVED_PROMPTS_MAX = 100
/** With its name and its model it fits into what the console reads of a request. */
export const PROMPT_BYTES_MAX = 60 * 1024

/** As JSON, which is how it is stored. */
export function promptBytes(content: PromptContent): number {
  return Buffer.byteLength(JSON.stringify(content))
}

/** Why this cannot be stored, as a sentence; undefined: it can. */
export function promptProblemOf(content: PromptContent): string | undefined {
  const texts = [content.system, ...content.messages.map((message) => message.content)]
  // The database takes neither into JSON.
  if (!texts.every((text) => text.isWellFormed() && !text.includes('\0')))
    return 'Remove NUL characters and incomplete characters from the text.'
  const kilobytes = PROMPT_BYTES_MAX / 1024
  return promptBytes(content) > PROMPT_BYTES_MAX
    ? `A saved prompt has at most ${kilobytes} KB. Clear the chat or shorten it, then save again.`
    : undefined
}
