/** Pages in situations that differ from the replies prepared for all of them. */
import type { Replies } from './canned-console.ts'
import type { Scene } from './page-picture.ts'
import { ME, meWith } from './replies/account.ts'
import { BROKEN, TALK } from './replies/calls.ts'
import { ago, CONVERSATION, OTHER_PROJECT, PROJECT, PUBLISHER, id } from './replies/ids.ts'
import { PROJECT_LIMITS, UNLIMITED } from './replies/limits.ts'
import { COSTS, FAILED_CALL, HOME, ONBOARDING, usageOf, WALLET } from './replies/money.ts'
import { DOMAIN, PROJECT_DETAILS, SETTINGS } from './replies/project.ts'

const at = (path: string) => `/projects/${PROJECT}${path}`
const team = (path: string) => `/publishers/${PUBLISHER}${path}`
const VIEWER = meWith({ publisher: { role: 'viewer' } })
const ADMIN = meWith({ publisher: { role: 'admin' } })
const DEVELOPER = meWith({ publisher: { role: 'developer' } })
const EMPTY = { items: [], next: null }
const NO_COMPARED = { nanos: 0n, previousNanos: 0n }
const NO_LATENCY = { p50: null, p95: null }

const EMPTY_HOME: Replies = {
  'GET /api/projects/:project/home': {
    ...HOME,
    heldNanos: 0n,
    spent: { today: NO_COMPARED, week: NO_COMPARED, month: NO_COMPARED },
    week: {
      calls: 0,
      previousCalls: 0,
      failed: 0,
      previousFailed: 0,
      firstTokenMs: NO_LATENCY,
      previousFirstTokenMs: NO_LATENCY,
    },
    models: [],
    failures: [],
    upTo: null,
  },
  'GET /api/projects/:project/onboarding': {
    isActivated: true,
    isDomainVerified: true,
    hasKeyPair: false,
    hasCredit: false,
    call: null,
    isAnswered: false,
    isDismissed: false,
    isSandbox: false,
    hasOwnProject: true,
  },
}

const SANDBOX_NAME = 'k7mq2wxz4tbn.sandbox.example.com'
const SANDBOX = meWith({
  project: { name: 'Sandbox', domain: SANDBOX_NAME, isSandbox: true, balanceNanos: 987_000_000n, alertNanos: null },
})
const SANDBOX_DOMAIN: Replies = {
  'GET /api/projects/:project/domain': {
    ...DOMAIN,
    name: SANDBOX_NAME,
    displayName: SANDBOX_NAME,
    provenBy: 'sandbox',
    explanation: 'Made for your sandbox.',
    checkedAt: null,
    nextCheckAt: null,
    twin: null,
    lastSeen: null,
  },
}
const SANDBOX_STEPS: Replies = {
  'GET /api/projects/:project/onboarding': { ...ONBOARDING, isDismissed: false, isSandbox: true, hasOwnProject: false },
}

/** Pages that differ in a sandbox. */
export const SANDBOX_PAGES: Record<string, Scene> = {
  'home of a sandbox': { path: at(''), replies: { ...SANDBOX, ...SANDBOX_STEPS } },
  'home of a sandbox without credit': {
    path: at(''),
    replies: meWith({ project: { name: 'Sandbox', isSandbox: true, balanceNanos: 0n } }),
  },
  'the domain of a sandbox': { path: at('/domain'), replies: { ...SANDBOX, ...SANDBOX_DOMAIN } },
  'the wallet of a sandbox': { path: at('/wallet'), replies: SANDBOX },
  'the limits of a sandbox': { path: at('/limits'), replies: SANDBOX },
  'the quick start of a sandbox': { path: at('/quick-start'), replies: SANDBOX },
  'the settings of a sandbox': { path: at('/settings'), replies: SANDBOX },
}

const { totals, previous, ...USAGE } = usageOf('model', 'day', [])
const NO_CALLS = { ...USAGE, totals: { ...totals, calls: 0 }, previous: { ...previous, calls: 0 }, upTo: null }
const MANY: [string, string][] = Array.from({ length: 8 }, (_, n) => [`model-${n}`, `Model ${n}`])

export const EMPTY_PAGES: Record<string, Scene> = {
  'home at the beginning': { path: at(''), replies: EMPTY_HOME },
  'home with all steps done': {
    path: at(''),
    replies: { 'GET /api/projects/:project/onboarding': { ...ONBOARDING, isDismissed: false } },
  },
  'home with all steps done, for a viewer': {
    path: at(''),
    replies: { ...VIEWER, 'GET /api/projects/:project/onboarding': { ...ONBOARDING, isDismissed: false } },
  },
  'home with a first call that failed, for a viewer': {
    path: at(''),
    replies: {
      ...VIEWER,
      'GET /api/projects/:project/onboarding': {
        ...ONBOARDING,
        isDismissed: false,
        isActivated: false,
        isDomainVerified: false,
        call: FAILED_CALL,
        isAnswered: false,
      },
    },
  },
  'no limits': {
    path: at('/limits'),
    replies: {
      'GET /api/projects/:project/limits': {
        operator: { rates: [] },
        account: UNLIMITED,
        project: UNLIMITED,
        endUsers: { values: UNLIMITED.values },
        keys: [],
      },
    },
  },
  'limits for a viewer': {
    path: at('/limits'),
    replies: { ...VIEWER, 'GET /api/projects/:project/limits': { ...PROJECT_LIMITS, account: null } },
  },
  'no browser sessions': {
    path: at('/browser-sessions'),
    replies: { 'GET /api/projects/:project/browser-sessions': EMPTY },
  },
  'no browser sessions of a pair': {
    path: at(`/browser-sessions?key=${id(71)}`),
    replies: { 'GET /api/projects/:project/browser-sessions': EMPTY },
  },
  'browser sessions for a viewer': { path: at('/browser-sessions'), replies: VIEWER },
  'no end users': { path: at('/end-users'), replies: { 'GET /api/projects/:project/end-users': EMPTY } },
  'end users for a viewer': { path: at('/end-users'), replies: VIEWER },
  'no refused requests': {
    path: at('/refused-requests'),
    replies: { 'GET /api/projects/:project/refused-requests': EMPTY },
  },
  'no refused requests that match': {
    path: at('/refused-requests?status=401&code=keys_invalid'),
    replies: { 'GET /api/projects/:project/refused-requests': EMPTY },
  },
  'no calls': { path: at('/calls'), replies: { 'GET /api/projects/:project/calls': { ...EMPTY, searchedTo: null } } },
  'no ignored fields': { path: at('/calls'), replies: { 'GET /api/projects/:project/ignored-fields': { items: [] } } },
  'no calls that fit': {
    path: at('/calls?outcome=failed&conversation=talk-1&live=off'),
    replies: { 'GET /api/projects/:project/calls': { ...EMPTY, searchedTo: null } },
  },
  'no calls so far': {
    path: at('/calls?min_cost=1'),
    replies: { 'GET /api/projects/:project/calls': { ...EMPTY, next: 'on', searchedTo: ago({ days: 4 }) } },
  },
  'no conversations, and none are kept': {
    path: at('/conversations'),
    replies: {
      'GET /api/projects/:project/conversations': EMPTY,
      'GET /api/projects/:project': { ...PROJECT_DETAILS, contentRetentionDays: 0 },
    },
  },
  'no conversation of that id': {
    path: at('/conversations?id=abc'),
    replies: { 'GET /api/projects/:project/conversations': EMPTY },
  },
  'a conversation that has just begun': {
    path: at(`/conversations/${CONVERSATION}`),
    replies: {
      'GET /api/projects/:project/conversations/:conversation': {
        ...TALK,
        title: null,
        inputTokens: null,
        outputTokens: null,
        chargedNanos: null,
      },
      'GET /api/projects/:project/conversations/:conversation/messages': EMPTY,
    },
  },
  'no costs': {
    path: at('/costs'),
    replies: {
      'GET /api/projects/:project/costs': {
        ...COSTS,
        models: [],
        prices: [],
        averageNanos: null,
        previousChargedNanos: 0n,
        forecast: { ...COSTS.forecast, daysLeft: null },
        upTo: null,
      },
      'GET /api/projects/:project/usage': NO_CALLS,
    },
  },
  'costs for a day': {
    path: at('/costs?range=24h'),
    replies: {
      'GET /api/projects/:project/costs': { ...COSTS, forecast: { ...COSTS.forecast, daysLeft: 3.5 } },
    },
  },
  'no keys': { path: at('/keys'), replies: { 'GET /api/projects/:project/keys': { items: [] } } },
  'no usage': { path: at('/usage'), replies: { 'GET /api/projects/:project/usage': NO_CALLS } },
  'usage of many models': {
    path: at('/usage?show=spend'),
    replies: { 'GET /api/projects/:project/usage': usageOf('model', 'day', MANY) },
  },
  'usage per hour, in tokens': { path: at('/usage?range=24h&by=key&show=tokens') },
  'usage of chosen days, failed calls': { path: at('/usage?range=custom&from=2026-10-01&to=2026-10-09&show=failed') },
  'usage of all projects by model': { path: team('/usage?by=model&show=tokens&range=7d') },
  'an empty ledger': { path: at('/wallet'), replies: { 'GET /api/projects/:project/ledger': EMPTY } },
  'an empty audit log': { path: team('/audit-log'), replies: { 'GET /api/publishers/:publisher/audit-log': EMPTY } },
  'no invitations': { path: '/invitations', replies: { 'GET /api/me/invitations': { items: [] } } },
  'no passkeys': {
    path: '/account',
    replies: { ...meWith({ user: { passkeys: 0, twoFactorEnabled: true } }), 'GET /api/me/passkeys': { items: [] } },
  },
  'a team of one': {
    path: team('/team'),
    replies: { 'GET /api/publishers/:publisher/team': { members: [], invitations: [] } },
  },
}

export const OTHER_STATES: Record<string, Scene> = {
  'a call that failed': { path: at(`/calls/${BROKEN.id}`) },
  'a call without an answer, whose reader left': {
    path: at('/calls/chatcmpl-hung'),
    replies: {
      'GET /api/projects/:project/calls/:call': {
        ...BROKEN,
        outcome: 'hung_up',
        status: 0,
        errorCode: null,
        corrections: [],
      },
    },
  },
  'a wallet that owes and cannot be topped up': {
    path: at('/wallet'),
    replies: {
      'GET /api/projects/:project/wallet': {
        ...WALLET,
        owedNanos: 3_300_000_000n,
        runningCalls: 1,
        daysLeft: 0,
        balanceNanos: 9_990_000_000n,
        topUp: { ...WALLET.topUp, isOpen: false },
      },
    },
  },
  'a wallet without an alert, for a viewer': {
    path: at('/wallet?paid=cs_2'),
    replies: {
      ...VIEWER,
      'GET /api/projects/:project/wallet': { ...WALLET, alertNanos: null, daysLeft: null },
      'GET /api/projects/:project/checkouts/:checkout': { state: 'created', amountNanos: 7_000_000_000n, paidAt: null },
    },
  },
  'a wallet that lasts, after a payment that was not made': {
    path: at('/wallet?paid=cs_3&kind=topup&days=30'),
    replies: {
      'GET /api/projects/:project/wallet': { ...WALLET, daysLeft: 401 },
      'GET /api/projects/:project/checkouts/:checkout': { state: 'expired', amountNanos: 8_000_000_000n, paidAt: null },
    },
  },
  'a wallet after a payment that was refunded': {
    path: at('/wallet?paid=cs_4'),
    replies: {
      'GET /api/projects/:project/wallet': { ...WALLET, daysLeft: 1 },
      'GET /api/projects/:project/checkouts/:checkout': {
        state: 'refunded',
        amountNanos: 9_000_000_000n,
        paidAt: null,
      },
    },
  },
  'a domain that waits': {
    path: `/projects/${OTHER_PROJECT}/domain`,
    replies: {
      'GET /api/projects/:project/domain': {
        ...DOMAIN,
        name: 'xn--bcher-kva.example',
        displayName: 'bücher.example',
        state: 'pending',
        provenBy: null,
        verifiedAt: null,
        checkedAt: null,
        nextCheckAt: ago({ seconds: -9 }),
        twin: null,
        lastSeen: null,
      },
    },
  },
  'a domain whose proof is missing': {
    path: at('/domain'),
    replies: {
      'GET /api/projects/:project/domain': {
        ...DOMAIN,
        state: 'failing',
        failingSince: ago({ hours: 30 }),
        lapsesAt: ago({ days: -5 }),
        nextCheckAt: null,
        lastSeen: {
          record: { outcome: 'other', values: ['v=spf1', 'parley-verify=old'], explanation: 'Another value is there.' },
          file: { outcome: 'refused', explanation: 'The site answered with 403.' },
        },
      },
    },
  },
  'a domain that lapsed': {
    path: at('/domain'),
    replies: {
      'GET /api/projects/:project/domain': {
        ...DOMAIN,
        state: 'lapsed',
        lapsedAt: ago({ days: 1 }),
        lastSeen: {
          record: { outcome: 'absent', values: [], explanation: 'There is no such record.' },
          file: { outcome: 'unanswered', explanation: 'The site did not answer.' },
        },
      },
    },
  },
  'a domain that the operator vouches for': {
    path: at('/domain'),
    replies: { ...DEVELOPER, 'GET /api/projects/:project/domain': { ...DOMAIN, provenBy: 'operator' } },
  },
  'settings that allow every model': {
    path: at('/settings'),
    replies: {
      ...ADMIN,
      'GET /api/projects/:project/settings': {
        ...SETTINGS,
        allowedModels: null,
        contentRetentionDays: 0,
        keyPairs: 1,
        limits: { requestsPerMinute: null, tokensPerMinute: null, concurrentCalls: 12 },
      },
    },
  },
  'settings with many models': {
    path: at('/settings'),
    replies: {
      'GET /api/projects/:project/settings': {
        ...SETTINGS,
        servedModels: MANY.flatMap(([each]) =>
          [1, 2].map((n) => ({ id: `${each}-${n}`, ownedBy: each, contextWindow: n })),
        ),
      },
    },
  },
  'a link to confirm an address': { path: `/activate#token=x.${base64({ email: 'ada@example.com' })}.y` },
  'a link to reset a password': { path: '/reset-password#token=abc' },
  'mail that was sent': { path: '/check-mail?email=ada@example.com' },
  'a first project': {
    path: '/new-project',
    replies: { 'GET /api/me': { ...ME, publishers: ME.publishers.slice(1) } },
  },
  'nobody who may create a project': {
    path: '/new-project',
    replies: { 'GET /api/me': { ...ME, publishers: [{ ...ME.publishers[1]!, role: 'developer' }] } },
  },
  'a quick start without a model': {
    path: at('/quick-start?language=python'),
    replies: {
      'GET /api/projects/:project/quick-start': {
        gatewayUrl: 'https://gateway.example.com',
        model: null,
        models: [],
        keysText: 'KEYS',
        placeholders: { publishableKey: 'A', secretKey: 'B' },
        snippets: [],
      },
    },
  },
  'a playground without a model': {
    path: at('/playground'),
    replies: {
      'GET /api/projects/:project/models': { items: [], default: null },
      'GET /api/projects/:project/catalogue': { items: [], measuredFrom: ago({ hours: 23 }) },
    },
  },
}

function base64(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
