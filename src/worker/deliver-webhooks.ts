import { switchOffFailing } from '../actions/projects/webhooks.ts'
import { errorFields, type Log } from '../platform/log.ts'
import type { Secrets } from '../platform/secrets.ts'
import { MINUTE_MS, SECOND_MS } from '../rules/durations.ts'
import { OFF_AFTER_MS, retryWaitMs, webhookHeadersOf } from '../rules/webhooks.ts'
import type { Db } from '../store/database.ts'
import {
  claimDeliveries,
  failOverdueDeliveries,
  noteDelivered,
  noteFailed,
  type ClaimedDelivery,
} from '../store/projects/webhook-deliveries.ts'
import { listFailingEndpoints } from '../store/projects/webhook-endpoints.ts'
import { withTenant, type Tenants } from '../store/tenancy.ts'
import { untilNoneIsLeft, type Job } from './job.ts'
import type { PostWebhook, Posted } from './post-webhook.ts'

const DELIVER_EVERY_MS = SECOND_MS
/** Each waits for a server of a stranger, and none of that takes anything of ours. */
const AT_ONCE = 64
/** So that one that hangs leaves room for the others. */
const AT_ONCE_PER_ENDPOINT = 4
/** Projects cost nothing: whoever has many with endpoints that hang must not have every place either. */
const AT_ONCE_PER_PUBLISHER = 8
/** Several times what names and an answer can take, so that nobody else has a delivery while it runs. */
const LEASE_MS = MINUTE_MS
/** While some run, others may become due. */
const LOOK_AGAIN_MS = 500
/** Then the job ends with what runs, and says that it is well. */
const RUN_MS_MAX = 20 * SECOND_MS
const SWITCHED_OFF_PER_RUN = 100

export interface DeliverOptions {
  db: Db
  tenants: Tenants
  log: Log
  secrets: Secrets
  consoleUrl: string
  postWebhook: PostWebhook
  signal: AbortSignal
  /** Tests wait for less. */
  waitMsAfter?: (attempts: number) => number
}

export function deliverWebhooksJob(options: DeliverOptions): Job {
  return { name: 'deliver webhooks', everyMs: DELIVER_EVERY_MS, run: () => deliverDue(options) }
}

/** Sends every event that is due, at least once. Workers share them: who claims one has it for the lease. */
export async function deliverDue(options: DeliverOptions): Promise<void> {
  const { db, signal } = options
  await untilNoneIsLeft((most) => failOverdueDeliveries(db, most))
  const running = new Set<Promise<void>>()
  const failures: unknown[] = []
  const untilMs = performance.now() + RUN_MS_MAX
  while (!signal.aborted && failures.length === 0 && performance.now() < untilMs) {
    const due = await claimDeliveries(db, {
      most: AT_ONCE - running.size,
      perEndpoint: AT_ONCE_PER_ENDPOINT,
      perPublisher: AT_ONCE_PER_PUBLISHER,
      leaseMs: LEASE_MS,
    })
    for (const delivery of due) {
      const one = deliver(options, delivery)
        .catch((error: unknown) => void failures.push(error))
        .finally(() => running.delete(one))
      running.add(one)
    }
    if (running.size === 0) break
    await oneEnds(running, LOOK_AGAIN_MS)
  }
  await Promise.all(running)
  if (failures.length > 0) throw failures[0]
  await switchOffDeadEndpoints(options)
}

async function deliver(options: DeliverOptions, delivery: ClaimedDelivery): Promise<void> {
  const { db, log, signal, waitMsAfter = (attempts) => retryWaitMs(attempts, Math.random()) } = options
  const posted = await post(options, delivery)
  // The request may have been cut short, because this process is ending: the lease runs out, and another one sends it.
  if (signal.aborted) return
  const { eventId: event, endpointId: endpoint, attempts } = delivery
  if (!('error' in posted)) {
    await noteDelivered(db, delivery, posted.status)
    log.info({ event, endpoint, attempts, status: posted.status }, 'webhook delivered')
    return
  }
  const isGivenUp = await noteFailed(db, delivery, { ...posted, waitMs: waitMsAfter(attempts) })
  const fields = { event, endpoint, attempts, status: posted.status, error: posted.error }
  log.info(fields, isGivenUp ? 'webhook given up' : 'webhook not delivered, will be tried again')
}

async function post({ secrets, log, postWebhook }: DeliverOptions, delivery: ClaimedDelivery): Promise<Posted> {
  const { eventId: id, endpointId, body, url, sealedSecret, oldSealedSecret } = delivery
  const sealed = oldSealedSecret === null ? [sealedSecret] : [sealedSecret, oldSealedSecret]
  let keys: string[]
  try {
    keys = sealed.map((text) => secrets.unseal(text, `webhook/${endpointId}`, 'webhooks'))
  } catch (error) {
    log.error({ endpoint: endpointId, ...errorFields(error) }, 'secret of a webhook endpoint not opened')
    return { error: 'secret', status: null }
  }
  return postWebhook({ url, body, headers: webhookHeadersOf({ id, body }, keys, new Date()) })
}

/** Switches off endpoints that took nothing for days, and notifies their owners. */
async function switchOffDeadEndpoints({ db, tenants, secrets, consoleUrl }: DeliverOptions): Promise<void> {
  for (const { id, projectId, publisherId, project } of await listFailingEndpoints(
    db,
    OFF_AFTER_MS,
    SWITCHED_OFF_PER_RUN,
  ))
    await withTenant(tenants, { publisherId, projectId }, (tx) =>
      switchOffFailing(tx, {
        project: { id: projectId, name: project, publisherId },
        endpointId: id,
        secrets,
        consoleUrl,
      }),
    )
}

/** Or so much time has passed. */
async function oneEnds(running: Iterable<Promise<void>>, withinMs: number): Promise<void> {
  const { promise: passed, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, withinMs)
  await Promise.race([...running, passed])
  clearTimeout(timer)
}
