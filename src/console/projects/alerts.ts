import type { FastifyInstance } from 'fastify'
import { changeAlertRule } from '../../actions/projects/alerts.ts'
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  replay,
  rollEndpointSecret,
  sendTestEvent,
} from '../../actions/projects/webhooks.ts'
import { notThere, wrongField } from '../../actions/refusals.ts'
import { isUuid } from '../../platform/uuid.ts'
import {
  ALERT_KINDS,
  ALERT_RULES,
  ruleIn,
  sentenceOfAlert,
  type AlertKind,
  type ChosenRule,
} from '../../rules/alerts.ts'
import { ENDPOINTS_MAX, wordsOfDeliveryError } from '../../rules/webhooks.ts'
import { listAlertRules, listClosedAlerts, listOpenAlerts, type AlertRow } from '../../store/projects/alerts.ts'
import { listDeliveries } from '../../store/projects/webhook-deliveries.ts'
import { listEndpoints } from '../../store/projects/webhook-endpoints.ts'
import { throttle } from '../throttle.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

const WRONG_PLACE = 'Use the value of next of an earlier page.'
/** Each is a request to a server of somebody's. */
const TESTS_PER_MINUTE = 10
const REPLAYS_PER_MINUTE = 10

export function alertRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/alerts', async ({ db, project }) => {
    const chosen = await listAlertRules(db, project.id)
    const open = await listOpenAlerts(db, project.id)
    return { rules: ALERT_KINDS.map((kind) => ruleViewOf(chosen, kind)), open: open.map(alertViewOf) }
  })

  route(app, world, 'GET /api/projects/:project/alert-history', async ({ db, project, query }) => {
    const { after: before, limit } = query
    if (before !== undefined && !isUuid(before)) throw wrongField('after', WRONG_PLACE)
    const rows = await listClosedAlerts(db, project.id, { before, most: limit + 1 })
    const shown = rows.slice(0, limit)
    return { items: shown.map(alertViewOf), next: rows.length > limit ? (shown.at(-1)?.id ?? null) : null }
  })

  route(app, world, 'PUT /api/projects/:project/alert-rules', async ({ db, actor, project, body }) => {
    const { kind, enabled } = body
    const threshold = body.threshold === null ? null : BigInt(body.threshold)
    await changeAlertRule(db, actor, { project, kind, enabled, threshold })
    return { done: true }
  })

  webhookRoutes(app, world)
}

function webhookRoutes(app: FastifyInstance, world: World): void {
  const { secrets } = world

  route(app, world, 'GET /api/projects/:project/webhooks', async ({ db, project }) => {
    return { items: await listEndpoints(db, project.id), most: ENDPOINTS_MAX }
  })

  route(app, world, 'POST /api/projects/:project/webhooks', ({ db, actor, project, body }) =>
    createEndpoint(db, actor, { project, ...body, secrets }),
  )

  route(app, world, 'POST /api/projects/:project/webhooks/:endpoint/secret', ({ db, actor, project, params }) =>
    rollEndpointSecret(db, actor, { project, endpointId: params.endpoint, secrets }),
  )

  route(app, world, 'PATCH /api/projects/:project/webhooks/:endpoint', async ({ db, actor, project, params, body }) => {
    await changeEndpoint(db, actor, { project, endpointId: params.endpoint, ...body })
    return { done: true }
  })

  route(app, world, 'DELETE /api/projects/:project/webhooks/:endpoint', async ({ db, actor, project, params }) => {
    await deleteEndpoint(db, actor, { project, endpointId: params.endpoint })
    return { done: true }
  })

  route(app, world, 'POST /api/projects/:project/webhooks/:endpoint/test', async ({ db, actor, project, params }) => {
    const eventId = await sendTestEvent(db, actor, { project, endpointId: params.endpoint })
    // Only for an endpoint that is theirs. What is too many is undone with the transaction.
    await throttle(world.db, [{ subject: `webhook-test/${project.id}`, most: TESTS_PER_MINUTE }])
    return { eventId }
  })

  route(
    app,
    world,
    'GET /api/projects/:project/webhooks/:endpoint/deliveries',
    async ({ db, project, params, query }) => {
      const { after, limit } = query
      if (after !== undefined && !/^\d{1,18}$/.test(after)) throw wrongField('after', WRONG_PLACE)
      const own = await listEndpoints(db, project.id)
      if (!own.some(({ id }) => id === params.endpoint)) throw notThere('endpoint')
      const before = after === undefined ? undefined : BigInt(after)
      const rows = await listDeliveries(db, params.endpoint, { projectId: project.id, before, most: limit + 1 })
      const shown = rows.slice(0, limit)
      const items = shown.map((row) => Object.assign(row, { lastError: wordsOfDeliveryError(row.lastError) }))
      return { items, next: rows.length > limit ? String(shown.at(-1)?.seq) : null }
    },
  )

  route(app, world, 'POST /api/projects/:project/webhook-deliveries/:delivery/replay', async (call) => {
    const { db, actor, project, params } = call
    await replay(db, actor, { project, deliveryId: params.delivery })
    await throttle(world.db, [{ subject: `webhook-replay/${project.id}`, most: REPLAYS_PER_MINUTE }])
    return { done: true }
  })
}

function ruleViewOf(chosen: readonly ChosenRule[], kind: AlertKind) {
  const { title, explanation, threshold: bounds } = ALERT_RULES[kind]
  const { isOn, threshold, isUsual } = ruleIn(chosen, kind)
  return {
    kind,
    title,
    explanation,
    isOn,
    threshold: bounds && {
      unit: bounds.unit,
      value: Number(threshold),
      isUsual,
      usual: Number(bounds.usual),
      least: Number(bounds.least),
      most: Number(bounds.most),
    },
  }
}

function alertViewOf({ id, kind, facts, openedAt, closedAt }: AlertRow) {
  const title = Object.hasOwn(ALERT_RULES, kind) ? ALERT_RULES[kind as AlertKind].title : kind
  return { id, kind, title, sentence: sentenceOfAlert(kind, facts), openedAt, closedAt }
}
