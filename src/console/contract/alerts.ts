import { z } from 'zod'
import { ALERT_KINDS } from '../../rules/alerts.ts'
import { WEBHOOK_EVENTS } from '../../rules/webhooks.ts'
import { after, count, done, entries, id, limit, page, time } from './fields.ts'

const kind = z.enum(ALERT_KINDS)

const rule = z.object({
  kind,
  title: z.string(),
  explanation: z.string(),
  isOn: z.boolean(),
  /** Null: there is nothing to choose here. */
  threshold: z
    .object({
      unit: z.enum(['%', '×']),
      value: z.number().int(),
      isUsual: z.boolean(),
      usual: z.number().int(),
      least: z.number().int(),
      most: z.number().int(),
    })
    .nullable(),
})

const alert = z.object({
  id,
  kind: z.string(),
  title: z.string(),
  sentence: z.string(),
  openedAt: time,
  /** Null: it is open. */
  closedAt: time.nullable(),
})

const eventType = z.enum(WEBHOOK_EVENTS)
const eventTypes = z.array(eventType).min(1, 'Choose at least one event.').max(WEBHOOK_EVENTS.length)
const url = z.string().trim().min(1, 'Enter a URL like https://example.com/webhooks.').max(500)

const endpoint = z.object({
  id,
  url: z.string(),
  eventTypes: z.array(z.string()),
  enabled: z.boolean(),
  offBecause: z.enum(['asked', 'failing']).nullable(),
  failingSince: time.nullable(),
  /** Until then the secret before this one signs, too. */
  oldSecretEndsAt: time.nullable(),
  createdAt: time,
})

const delivery = z.object({
  id,
  eventId: id,
  type: z.string(),
  state: z.enum(['pending', 'delivered', 'failed']),
  attempts: count,
  createdAt: time,
  lastAttemptAt: time.nullable(),
  /** While it waits. */
  nextAttemptAt: time.nullable(),
  lastStatus: z.number().int().nullable(),
  /** The failure, in words. */
  lastError: z.string().nullable(),
  /** The body that was sent. */
  body: z.string(),
})

export const alerts = entries({
  'GET /api/projects/:project/alerts': {
    access: 'project',
    role: 'viewer',
    reply: z.object({ rules: z.array(rule), open: z.array(alert) }),
  },
  /** Closed alerts, newest first. */
  'GET /api/projects/:project/alert-history': {
    access: 'project',
    role: 'viewer',
    query: z.object({ after, limit }),
    reply: page(alert),
  },
  'PUT /api/projects/:project/alert-rules': {
    access: 'project',
    role: 'admin',
    /** Null: the usual one. */
    body: z.object({ kind, enabled: z.boolean(), threshold: z.number().int().min(1).max(1_000).nullable() }),
    reply: done,
  },
  'GET /api/projects/:project/webhooks': {
    access: 'project',
    role: 'admin',
    reply: z.object({ items: z.array(endpoint), most: count }),
  },
  /** The only answers that ever hold a secret are this and the next. */
  'POST /api/projects/:project/webhooks': {
    access: 'project',
    role: 'admin',
    freshProof: true,
    body: z.object({ url, eventTypes }),
    reply: z.object({ id, secret: z.string() }),
  },
  'POST /api/projects/:project/webhooks/:endpoint/secret': {
    access: 'project',
    role: 'admin',
    freshProof: true,
    reply: z.object({ secret: z.string(), oldEndsAt: time }),
  },
  'PATCH /api/projects/:project/webhooks/:endpoint': {
    access: 'project',
    role: 'admin',
    freshProof: true,
    body: z.object({ url: url.optional(), eventTypes: eventTypes.optional(), enabled: z.boolean().optional() }),
    reply: done,
  },
  'DELETE /api/projects/:project/webhooks/:endpoint': {
    access: 'project',
    role: 'admin',
    freshProof: true,
    reply: done,
  },
  'POST /api/projects/:project/webhooks/:endpoint/test': {
    access: 'project',
    role: 'admin',
    reply: z.object({ eventId: id }),
  },
  /** Newest first. */
  'GET /api/projects/:project/webhooks/:endpoint/deliveries': {
    access: 'project',
    role: 'admin',
    query: z.object({ after, limit }),
    reply: page(delivery),
  },
  'POST /api/projects/:project/webhook-deliveries/:delivery/replay': {
    access: 'project',
    role: 'admin',
    reply: done,
  },
})
