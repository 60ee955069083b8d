import {
  ALERT_KINDS,
  ALERT_RULES,
  sentenceOfAlert,
  type AlertFacts,
  type AlertKind,
} from '../../../../src/rules/alerts.ts'
import { WEBHOOK_EVENTS } from '../../../../src/rules/webhooks.ts'
import type { Given, Replies } from '../canned-console.ts'
import { ago, id } from './ids.ts'

type Alert = Given<'GET /api/projects/:project/alerts'>['open'][number]
type Delivery = Given<'GET /api/projects/:project/webhooks/:endpoint/deliveries'>['items'][number]

function alert(n: number, kind: AlertKind, facts: AlertFacts, closedAt: Date | null = null): Alert {
  const { title } = ALERT_RULES[kind]
  const openedAt = ago({ days: closedAt === null ? 0 : n, hours: n })
  return { id: id(700 + n), kind, title, sentence: sentenceOfAlert(kind, facts), openedAt, closedAt }
}

const RULES = ALERT_KINDS.map((kind, n) => {
  const { title, explanation, threshold } = ALERT_RULES[kind]
  const bounds = threshold && {
    unit: threshold.unit,
    value: kind === 'error_rate' ? 35 : Number(threshold.usual),
    isUsual: kind !== 'error_rate',
    usual: Number(threshold.usual),
    least: Number(threshold.least),
    most: Number(threshold.most),
  }
  return { kind, title, explanation, isOn: n !== 1, threshold: bounds }
})

function delivery(n: number, change: Partial<Delivery>): Delivery {
  return {
    id: id(740 + n),
    eventId: id(750 + n),
    type: 'key.created',
    state: 'delivered',
    attempts: n,
    createdAt: ago({ hours: n }),
    lastAttemptAt: ago({ minutes: 50 + n }),
    nextAttemptAt: null,
    lastStatus: 200 + n,
    lastError: null,
    body: JSON.stringify({ id: id(750 + n), type: 'key.created', data: {} }),
    ...change,
  }
}

export const ALERTS: Replies = {
  'GET /api/projects/:project/alerts': {
    rules: RULES,
    open: [
      alert(1, 'error_rate', { failures: 14, calls: 40, percent: 35 }),
      alert(2, 'provider_down', { model: 'model-1', percent: 72.5 }),
    ],
  },
  'GET /api/projects/:project/alert-history': {
    items: [
      alert(3, 'low_balance', { balance_nanos: '420000000', threshold_nanos: '1000000000' }, ago({ days: 2 })),
      alert(4, 'spend_spike', { today_nanos: '31000000000', usual_nanos: '7000000000' }, ago({ days: 3 })),
    ],
    next: null,
  },
  'PUT /api/projects/:project/alert-rules': { done: true },
  'GET /api/projects/:project/webhooks': {
    items: [
      {
        id: id(731),
        url: 'https://hooks.example.com/parley',
        eventTypes: [...WEBHOOK_EVENTS],
        enabled: true,
        offBecause: null,
        failingSince: ago({ hours: 5 }),
        oldSecretEndsAt: ago({ hours: -17 }),
        createdAt: ago({ days: 20 }),
      },
      {
        id: id(732),
        url: 'https://old.example.com/events?from=parley',
        eventTypes: ['wallet.topped_up'],
        enabled: false,
        offBecause: 'failing',
        failingSince: ago({ days: 3 }),
        oldSecretEndsAt: null,
        createdAt: ago({ days: 41 }),
      },
    ],
    most: 5,
  },
  'POST /api/projects/:project/webhooks': { id: id(733), secret: 'whsec_bmV3IGVuZHBvaW50IHNlY3JldCBvZiAzMiBieXRlcyE=' },
  'POST /api/projects/:project/webhooks/:endpoint/secret': {
    secret: 'whsec_cm9sbGVkIGVuZHBvaW50IHNlY3JldCBvZiBieXRlcyE=',
    oldEndsAt: ago({ hours: -24 }),
  },
  'PATCH /api/projects/:project/webhooks/:endpoint': { done: true },
  'DELETE /api/projects/:project/webhooks/:endpoint': { done: true },
  'POST /api/projects/:project/webhooks/:endpoint/test': { eventId: id(759) },
  'GET /api/projects/:project/webhooks/:endpoint/deliveries': {
    items: [
      delivery(1, {}),
      delivery(2, {
        type: 'alert.opened',
        state: 'pending',
        nextAttemptAt: ago({ minutes: -4 }),
        lastStatus: 502,
        lastError: 'The endpoint answered with a status other than 2xx.',
      }),
      delivery(3, { type: 'domain.lapsed', state: 'failed', lastStatus: null, lastError: 'No name server answered.' }),
    ],
    next: null,
  },
  'POST /api/projects/:project/webhook-deliveries/:delivery/replay': { done: true },
}
