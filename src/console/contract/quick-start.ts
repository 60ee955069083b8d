import { z } from 'zod'
import { SNIPPETS } from '../../rules/calls/snippets.ts'
import { amount, entries } from './fields.ts'

export const snippet = z.object({
  id: z.enum(SNIPPETS),
  label: z.string(),
  file: z.string().nullable(),
  install: z.string().nullable(),
  run: z.string().nullable(),
  text: z.string(),
})

const model = z.object({
  id: z.string(),
  /** Nanos for a million tokens. */
  inputNanos: amount,
  outputNanos: amount,
  contextWindow: z.number().nullable(),
  maxOutputTokens: z.number().nullable(),
})

export const quickStart = entries({
  'GET /api/projects/:project/models': {
    access: 'project',
    role: 'viewer',
    reply: z.object({ items: z.array(model) }),
    network: true,
  },
  'GET /api/projects/:project/quick-start': {
    access: 'project',
    role: 'viewer',
    /** One that is served to the project; the first of them when absent. */
    query: z.object({ model: z.string().max(200).optional() }),
    reply: z.object({
      gatewayUrl: z.string(),
      /** Null: no model is served to this project yet, and the examples name one that is not there. */
      model: z.string().nullable(),
      models: z.array(z.string()),
      /** Sets the keys; with `placeholders` where they belong. No key leaves or enters here. */
      keysText: z.string(),
      placeholders: z.object({ publishableKey: z.string(), secretKey: z.string() }),
      snippets: z.array(snippet),
    }),
    network: true,
  },
})
