import { uuidv7 } from '../platform/uuid.ts'
import { webhookBodyOf, type WebhookEventType } from '../rules/webhooks.ts'
import type { Tx } from '../store/database.ts'
import { addEvent } from '../store/projects/webhook-deliveries.ts'

export interface Told {
  projectId: string
  type: WebhookEventType
  /** The object that it is about, such as `key:ID`: events of one object arrive in the order in which they were posted. */
  objectKey: string
  /** Ids, names and amounts. Never a secret, and nothing of a conversation. */
  data: Record<string, unknown>
  /** To this endpoint alone. */
  onlyTo?: string
}

/** Tells the project's endpoints, as part of the caller's transaction: it is sent if and only if that is committed. */
export async function postEvent(tx: Tx, { projectId, type, objectKey, data, onlyTo }: Told): Promise<string> {
  const id = uuidv7()
  const body = webhookBodyOf({ id, type, createdAt: new Date(), projectId, data })
  await addEvent(tx, { id, projectId, type, objectKey, body, ...(onlyTo !== undefined && { onlyTo }) })
  return id
}
