import { randomBytes } from 'node:crypto'
import type { Secrets } from '../../platform/secrets.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import {
  endpointUrlOf,
  ENDPOINTS_MAX,
  TEST_EVENT,
  WEBHOOK_SECRET_BYTES,
  webhookSecretFrom,
  type WebhookEventType,
} from '../../rules/webhooks.ts'
import type { Tx } from '../../store/database.ts'
import { findDelivery, isQueueFull, replayDelivery } from '../../store/projects/webhook-deliveries.ts'
import * as store from '../../store/projects/webhook-endpoints.ts'
import { PARLEY, type Actor } from '../actor.ts'
import { auditProject, type ProjectAtHand } from '../audit.ts'
import { postEvent } from '../events.ts'
import { mailAdmins } from '../mails.ts'
import { conflict, notThere, wrongField } from '../refusals.ts'
import { expectProject } from './lock.ts'

interface EndpointInput {
  project: ProjectAtHand
  endpointId: string
}

/** The secret leaves the process in this one answer. */
export async function createEndpoint(
  tx: Tx,
  actor: Actor,
  input: { project: ProjectAtHand; url: string; eventTypes: readonly WebhookEventType[]; secrets: Secrets },
): Promise<{ id: string; secret: string }> {
  const { project, eventTypes, secrets } = input
  const url = expectUrl(input.url)
  await expectProject(tx, project.id)
  if ((await store.listEndpoints(tx, project.id)).length >= ENDPOINTS_MAX)
    throw conflict(`A project has at most ${ENDPOINTS_MAX} webhook endpoints. Delete one first.`)
  const id = uuidv7()
  const { secret, sealedSecret } = newSecret(secrets, id)
  await store.insertEndpoint(tx, { id, projectId: project.id, url, eventTypes: unique(eventTypes), sealedSecret })
  await auditProject(tx, actor, project, 'webhook.created', { subject: url, details: { endpoint: id, eventTypes } })
  return { id, secret }
}

/** Fields that are left out keep their value. */
export async function changeEndpoint(
  tx: Tx,
  actor: Actor,
  input: EndpointInput & {
    url?: string | undefined
    eventTypes?: readonly WebhookEventType[] | undefined
    enabled?: boolean | undefined
  },
): Promise<void> {
  const before = await lock(tx, input)
  const url = input.url === undefined ? before.url : expectUrl(input.url)
  const eventTypes = unique(input.eventTypes ?? before.eventTypes)
  const enabled = input.enabled ?? before.enabled
  const details: Record<string, unknown> = { endpoint: before.id }
  if (url !== before.url) details['url'] = `${before.url} → ${url}`
  if (eventTypes.join() !== before.eventTypes.join()) details['eventTypes'] = eventTypes
  if (enabled !== before.enabled) details['enabled'] = enabled
  if (Object.keys(details).length === 1) return
  const offBecause = enabled ? null : (before.offBecause ?? 'asked')
  const isNew = url !== before.url || enabled !== before.enabled
  await store.changeEndpoint(tx, input.project.id, before.id, { url, eventTypes, offBecause, isNew })
  await auditProject(tx, actor, input.project, 'webhook.changed', { subject: url, details })
}

/** The old secret signs beside the new one for a day. */
export async function rollEndpointSecret(
  tx: Tx,
  actor: Actor,
  input: EndpointInput & { secrets: Secrets },
): Promise<{ secret: string; oldEndsAt: Date }> {
  const endpoint = await lock(tx, input)
  const { secret, sealedSecret } = newSecret(input.secrets, endpoint.id)
  const oldEndsAt = await store.replaceEndpointSecret(tx, input.project.id, endpoint.id, sealedSecret)
  const details = { endpoint: endpoint.id, oldEndsAt }
  await auditProject(tx, actor, input.project, 'webhook.secret_rolled', { subject: endpoint.url, details })
  return { secret, oldEndsAt }
}

export async function deleteEndpoint(tx: Tx, actor: Actor, input: EndpointInput): Promise<void> {
  const endpoint = await lock(tx, input)
  await store.deleteEndpoint(tx, input.project.id, endpoint.id)
  const details = { endpoint: endpoint.id }
  await auditProject(tx, actor, input.project, 'webhook.deleted', { subject: endpoint.url, details })
}

/** Returns the id of the event. */
export async function sendTestEvent(tx: Tx, actor: Actor, input: EndpointInput): Promise<string> {
  const { id: onlyTo, url, enabled } = await lock(tx, input)
  if (!enabled) throw conflict('This endpoint is switched off. Switch it on first.')
  const objectKey = `webhook:${onlyTo}`
  const data = { endpoint_id: onlyTo, message: 'This is a test event.' }
  const event = await postEvent(tx, { projectId: input.project.id, type: TEST_EVENT, objectKey, data, onlyTo })
  await auditProject(tx, actor, input.project, 'webhook.tested', { subject: url, details: { endpoint: onlyTo, event } })
  return event
}

/** Sends the same event once more, with the same id. */
export async function replay(
  tx: Tx,
  actor: Actor,
  { project, deliveryId }: { project: ProjectAtHand; deliveryId: string },
): Promise<void> {
  const delivery = await findDelivery(tx, project.id, deliveryId)
  if (!delivery) throw notThere('delivery')
  const endpoint = await lock(tx, { project, endpointId: delivery.endpoint_id })
  if (!endpoint.enabled) throw conflict('This endpoint is switched off. Switch it on first.')
  if (await isQueueFull(tx, endpoint.id))
    throw conflict('Too many events are waiting for this endpoint. Try again when some are delivered.')
  if (!(await replayDelivery(tx, project.id, deliveryId)))
    throw conflict('This event is still waiting to be delivered, so there is nothing to send again.')
  const details = { endpoint: endpoint.id, event: delivery.event_id }
  await auditProject(tx, actor, project, 'webhook.replayed', { subject: endpoint.url, details })
}

/** After days without a success. Its admins are told once: switching it off is what ends the failing. */
export async function switchOffFailing(
  tx: Tx,
  input: EndpointInput & { secrets: Secrets; consoleUrl: string },
): Promise<void> {
  const { project, endpointId, secrets, consoleUrl } = input
  const endpoint = await store.lockEndpoint(tx, project.id, endpointId)
  if (!endpoint?.enabled || endpoint.failingSince === null) return
  const { url, eventTypes } = endpoint
  await store.changeEndpoint(tx, project.id, endpointId, { url, eventTypes, offBecause: 'failing', isNew: false })
  await auditProject(tx, PARLEY, project, 'webhook.switched_off', { subject: url, details: { endpoint: endpointId } })
  const data = { project: project.name, link: `${consoleUrl}/projects/${project.id}/alerts` }
  await mailAdmins(tx, secrets, { template: 'webhook_off', data })
}

function newSecret(secrets: Secrets, endpointId: string): { secret: string; sealedSecret: string } {
  const secret = webhookSecretFrom(randomBytes(WEBHOOK_SECRET_BYTES))
  return { secret, sealedSecret: secrets.seal(secret, `webhook/${endpointId}`, 'webhooks') }
}

function expectUrl(text: string): string {
  const found = endpointUrlOf(text)
  if ('problem' in found) throw wrongField('url', found.problem)
  return found.url
}

function unique(types: readonly string[]): string[] {
  return [...new Set(types)].toSorted()
}

async function lock(tx: Tx, { project, endpointId }: EndpointInput): Promise<store.EndpointRow> {
  const endpoint = await store.lockEndpoint(tx, project.id, endpointId)
  if (!endpoint) throw notThere('endpoint')
  return endpoint
}
