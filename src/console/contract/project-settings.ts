import { z } from 'zod'
import { amount, done, entries } from './fields.ts'

const modelId = z.string().min(1).max(128)
const settings = z.object({
  name: z.string(),
  /** Null: every model that is served, also those to come. */
  allowedModels: z.array(z.string()).nullable(),
  contentRetentionDays: z.number().int(),
})

export const projectSettings = entries({
  'GET /api/projects/:project/settings': {
    access: 'project',
    role: 'viewer',
    reply: settings.extend({
      servedModels: z.array(z.object({ id: z.string(), ownedBy: z.string(), contextWindow: z.number().nullable() })),
      /** Set by the operator. Null: none of its own. */
      limits: z.object({
        requestsPerMinute: z.number().nullable(),
        tokensPerMinute: amount.nullable(),
        concurrentCalls: z.number().nullable(),
      }),
      keyPairs: z.number().int(),
      balanceNanos: amount,
      /** Earnings that are not in the wallet yet. */
      pendingNanos: amount,
    }),
  },
  'PATCH /api/projects/:project/settings': {
    access: 'project',
    role: 'admin',
    body: z.object({
      allowedModels: z.array(modelId).min(1, 'Choose at least one model.').max(500).nullable().optional(),
      contentRetentionDays: z.number().int().min(0).max(365, 'At most 365 days.').optional(),
    }),
    reply: settings,
  },
  'DELETE /api/projects/:project': {
    access: 'project',
    role: 'owner',
    freshProof: true,
    body: z.object({
      /** The balance and pending earnings stay behind; needed when there are any. */
      leavesCredit: z.boolean().default(false),
    }),
    reply: done,
  },
})
