import { z } from 'zod'
import { entries } from './fields.ts'
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
    .max(MESSAGES_MAX, `At most ${MESSAGES_MAX} messages. Clear the chat to begin anew.`),
  temperature: z.number().min(0, 'From 0 to 2.').max(2, 'From 0 to 2.').nullable().default(null),
  maxTokens: z.number().int('A whole number.').min(1, 'At least 1.').max(10_000_000).nullable().default(null),
  stream: z.boolean().default(true),
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
})
