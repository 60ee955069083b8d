import { z } from 'zod'
import { SNIPPETS } from '../../rules/calls/snippets.ts'
import { ABILITIES } from '../../providers/abilities.ts'
import { MODEL_KINDS } from '../../rules/catalogue/model-kinds.ts'
import { amount, count, entries, forEachClass, time } from './fields.ts'

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

/** A model as the catalogue has it. */
const listed = z.object({
  id: z.string(),
  kind: z.enum(MODEL_KINDS),
  ownedBy: z.string(),
  contextWindow: z.number().nullable(),
  maxOutputTokens: z.number().nullable(),
  /** Nanos for a million tokens. */
  price: forEachClass(amount),
  /** Features that a call to it can ask for. `caching`: input that its provider has cached costs less. */
  abilities: z.array(z.enum([...ABILITIES, 'caching', 'embeddings'])),
  /** This project's calls since `measuredFrom`. */
  calls: count,
  /** Null: too few calls to say. */
  measured: z
    .object({
      failed: count,
      firstTokenMs: z.object({ p50: z.number().nullable(), p95: z.number().nullable() }),
    })
    .nullable(),
})

export const quickStart = entries({
  /** Every model that the project may call now. */
  'GET /api/projects/:project/catalogue': {
    access: 'project',
    role: 'viewer',
    reply: z.object({ measuredFrom: time, items: z.array(listed) }),
    network: true,
  },
  'GET /api/projects/:project/models': {
    access: 'project',
    role: 'viewer',
    /** `default`: the one to begin with, the cheapest. */
    reply: z.object({ items: z.array(model), default: z.string().nullable() }),
    network: true,
  },
  'GET /api/projects/:project/quick-start': {
    access: 'project',
    role: 'viewer',
    /** One that is served to the project; the cheapest of them when absent. */
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
