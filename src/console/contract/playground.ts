import { z } from 'zod'
import { count, done, entries, id, name, time } from './fields.ts'
import { snippet } from './quick-start.ts'

const MESSAGES_MAX = 200
const CONTENT_MAX = 50_000

const request = z.object({
  model: z.string().min(1, 'Choose a model.').max(200),
  messages: z
    .array(
      z.object({
        role: z.enum(['system', 'user', 'assistant']),
        content: z.string().min(1, 'Write something.').max(CONTENT_MAX, `At most ${CONTENT_MAX} characters.`),
      }),
    )
    .min(1, 'Write something.')
    .max(MESSAGES_MAX, `At most ${MESSAGES_MAX} messages. Clear the chat to start again.`),
  temperature: z.number().min(0, 'From 0 to 2.').max(2, 'From 0 to 2.').nullable().default(null),
  maxTokens: z.number().int('A whole number.').min(1, 'At least 1.').max(10_000_000).nullable().default(null),
  stream: z.boolean().default(true),
})

/** A prompt as it is saved. Its size is limited as a whole: src/rules/projects/saved-prompts.ts. */
const asked = z.object({
  model: request.shape.model,
  system: z.string().max(CONTENT_MAX, `At most ${CONTENT_MAX} characters.`).default(''),
  /** The conversation, turn by turn. A last turn of the user's is the one to send next. */
  messages: z
    .array(z.object({ role: z.enum(['user', 'assistant']), content: request.shape.messages.element.shape.content }))
    .max(MESSAGES_MAX, `At most ${MESSAGES_MAX} messages. Clear the chat to start again.`),
  temperature: request.shape.temperature,
  maxTokens: request.shape.maxTokens,
  stream: request.shape.stream,
})

const savedPrompt = z.object({
  id,
  name: z.string(),
  model: z.string(),
  savedAt: time,
  /** Null when they have left. */
  savedBy: z.string().nullable(),
})

export const playground = entries({
  /**
   * The gateway's own events, byte for byte, paid from the project's wallet. What the gateway refuses is one event with
   * its error; an answer that was not to be streamed is one event with all of it.
   */
  'POST /api/projects/:project/playground': {
    access: 'project',
    role: 'developer',
    body: request,
    reply: z.string(),
    network: true,
    format: 'events',
  },
  'POST /api/projects/:project/playground/code': {
    access: 'project',
    role: 'developer',
    body: request,
    reply: z.object({ items: z.array(snippet) }),
  },
  // The whole team's prompts, without their text.
  'GET /api/projects/:project/saved-prompts': {
    access: 'project',
    role: 'viewer',
    reply: z.object({ items: z.array(savedPrompt), most: count }),
  },
  'POST /api/projects/:project/saved-prompts': {
    access: 'project',
    role: 'developer',
    body: asked.extend({ name }),
    reply: z.object({ id }),
  },
  'GET /api/projects/:project/saved-prompts/:prompt': {
    access: 'project',
    role: 'viewer',
    reply: savedPrompt.extend(asked.shape),
  },
  'PUT /api/projects/:project/saved-prompts/:prompt': {
    access: 'project',
    role: 'developer',
    body: asked,
    reply: done,
  },
  'PATCH /api/projects/:project/saved-prompts/:prompt': {
    access: 'project',
    role: 'developer',
    body: z.object({ name }),
    reply: done,
  },
  'DELETE /api/projects/:project/saved-prompts/:prompt': { access: 'project', role: 'developer', reply: done },
})
