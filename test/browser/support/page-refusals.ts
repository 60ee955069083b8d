/** Pages as people with other roles see them, in other states of the account, and when something cannot be read. */
import { ParleyError } from '../../../src/rules/errors.ts'
import type { Replies } from './canned-console.ts'
import type { Scene } from './page-picture.ts'
import { EMPTY_PAGES, OTHER_STATES, SANDBOX_PAGES } from './page-variants.ts'
import { meWith } from './replies/account.ts'
import { ago, id, OTHER_PROJECT, POOR_PROJECT, PROJECT, PUBLISHER } from './replies/ids.ts'
import { MONETIZATION_SETTINGS } from './replies/monetization.ts'

const at = (path: string) => `/projects/${PROJECT}${path}`
const team = (path: string) => `/publishers/${PUBLISHER}${path}`
const refused = new ParleyError('role_too_low')
const missing = new ParleyError('not_found', { message: 'There is no such thing, or you have no access to it.' })
const broken = new ParleyError('internal')
const VIEWER = meWith({ publisher: { role: 'viewer' } })
const DEVELOPER = meWith({ publisher: { role: 'developer' } })
const EMPTY = { items: [], next: null }

const MONETIZATION_STATES: Record<string, Scene> = {
  'monetization that is off': {
    path: at('/monetization'),
    replies: {
      'GET /api/projects/:project/monetization': {
        ...MONETIZATION_SETTINGS,
        mode: 'off',
        matcher: 'absent',
        obstacle: 'Verify the domain first.',
        blockedAdvertisers: [],
      },
      'GET /api/projects/:project/monetization/preview': {
        label: 'Ad',
        format: 'plain',
        reply: 'Soak the **beans**.',
        block: 'Ad · A pot <https://pots.example.com>',
        match: null,
        sampleBecause: 'no_match',
      },
    },
  },
  'monetization that is on, and may not be': {
    path: at('/monetization?range=24h'),
    replies: {
      'GET /api/projects/:project/monetization': {
        ...MONETIZATION_SETTINGS,
        mode: 'on',
        matcher: 'paused',
        obstacle: 'This version has not been proven safe.',
      },
    },
  },
  'monetization with nothing counted': {
    path: at('/monetization'),
    replies: {
      'GET /api/projects/:project/monetization/outcomes': {
        from: ago({ days: 7 }),
        calls: 0,
        recommended: 0,
        outcomes: [],
      },
      'GET /api/projects/:project/recommendations': EMPTY,
    },
  },
  'the label of recommendations': { path: at('/monetization?view=preview') },
  'the rehearsal': { path: at('/monetization?view=rehearsal') },
  'the rehearsal, for a viewer': { path: at('/monetization?view=rehearsal'), replies: VIEWER },
  'the controls of monetization': { path: at('/monetization?view=controls') },
  'the controls of monetization, for a viewer': { path: at('/monetization?view=controls'), replies: VIEWER },
  'the results of monetization, for a viewer': { path: at('/monetization?view=results'), replies: VIEWER },
  ...Object.fromEntries(
    (['starting', 'switched_off', 'no_offers'] as const).map((matcher) => [
      `a matcher that is ${matcher}`,
      {
        path: at('/monetization?view=preview'),
        replies: { 'GET /api/projects/:project/monetization': { ...MONETIZATION_SETTINGS, matcher } },
      },
    ]),
  ),
}

const ROLES_AND_BANNERS: Record<string, Scene> = {
  ...Object.fromEntries(
    ['/keys', '/settings', '/playground', '/domain'].map((page) => [
      `${page} for a viewer`,
      { path: at(page), replies: VIEWER },
    ]),
  ),
  'the team for a viewer': { path: team('/team'), replies: VIEWER },
  'the whole page for a developer': { path: at('/quick-start'), replies: DEVELOPER, isWhole: true },
  'an address that is not confirmed': { path: '/account', replies: meWith({ user: { emailVerified: false } }) },
  'invitations before the address is confirmed': {
    path: '/invitations',
    replies: { ...meWith({ user: { emailVerified: false } }), 'GET /api/me/invitations': { items: [] } },
  },
  'an account that waits for approval': {
    path: at('/keys'),
    replies: meWith({ publisher: { activatedAt: null }, installation: { requiresApproval: true } }),
  },
  'an account that is not activated': {
    path: at('/quick-start'),
    replies: meWith({ publisher: { activatedAt: null } }),
  },
  'keys before the domain is verified': { path: `/projects/${OTHER_PROJECT}/keys` },
  'a balance that is low': { path: `/projects/${POOR_PROJECT}/quick-start` },
  'a balance that is used up': { path: at('/quick-start'), replies: meWith({ project: { balanceNanos: 0n } }) },
  'a page that is not there': { path: '/no-such-page' },
  'a project of somebody else': { path: `/projects/${id(77)}/keys` },
}

/** Every list and every card says what went wrong where it would be. */
const REFUSED: [name: string, path: string, replies: Replies][] = [
  ['sessions and passkeys', '/account', { 'GET /api/me/sessions': refused, 'GET /api/me/passkeys': missing }],
  ['home', at(''), { 'GET /api/projects/:project/home': refused }],
  ['onboarding', at(''), { 'GET /api/projects/:project/onboarding': refused }],
  ['calls', at('/calls'), { 'GET /api/projects/:project/calls': refused }],
  ['refused requests', at('/refused-requests'), { 'GET /api/projects/:project/refused-requests': refused }],
  ['a call', at('/calls/x'), { 'GET /api/projects/:project/calls/:call': missing }],
  ['conversations', at('/conversations'), { 'GET /api/projects/:project/conversations': refused }],
  ['a conversation', at('/conversations/x'), { 'GET /api/projects/:project/conversations/:conversation': missing }],
  ['messages', at('/conversations/x'), { 'GET /api/projects/:project/conversations/:conversation/messages': refused }],
  ['costs', at('/costs'), { 'GET /api/projects/:project/costs': refused }],
  ['a domain', at('/domain'), { 'GET /api/projects/:project/domain': refused }],
  ['keys', at('/keys'), { 'GET /api/projects/:project/keys': refused }],
  ['limits', at('/limits'), { 'GET /api/projects/:project/limits': refused }],
  ['browser sessions', at('/browser-sessions'), { 'GET /api/projects/:project/browser-sessions': refused }],
  ['end users', at('/end-users'), { 'GET /api/projects/:project/end-users': refused }],
  ['monetization', at('/monetization'), { 'GET /api/projects/:project/monetization': refused }],
  ['outcomes', at('/monetization'), { 'GET /api/projects/:project/monetization/outcomes': refused }],
  ['a preview', at('/monetization?view=preview'), { 'GET /api/projects/:project/monetization/preview': refused }],
  ['models', at('/playground'), { 'GET /api/projects/:project/models': refused }],
  ['a quick start', at('/quick-start'), { 'GET /api/projects/:project/quick-start': refused }],
  ['settings', at('/settings'), { 'GET /api/projects/:project/settings': refused }],
  ['usage', at('/usage'), { 'GET /api/projects/:project/usage': refused }],
  [
    'a wallet',
    at('/wallet'),
    { 'GET /api/projects/:project/wallet': refused, 'GET /api/projects/:project/ledger': refused },
  ],
  ['an audit log', team('/audit-log'), { 'GET /api/publishers/:publisher/audit-log': refused }],
  ['a team', team('/team'), { 'GET /api/publishers/:publisher/team': refused }],
  ['invitations', '/invitations', { 'GET /api/me/invitations': refused }],
]

export const VARIANTS: Record<string, Scene> = {
  ...EMPTY_PAGES,
  ...SANDBOX_PAGES,
  ...OTHER_STATES,
  ...MONETIZATION_STATES,
  ...ROLES_AND_BANNERS,
  ...Object.fromEntries(REFUSED.map(([name, path, replies]) => [`${name} that cannot be read`, { path, replies }])),
  'keys that our side cannot read, after three tries': {
    path: at('/keys'),
    replies: { 'GET /api/projects/:project/keys': broken },
    isRetried: true,
  },
  'a session that cannot be read, after three tries': {
    path: at('/keys'),
    replies: { 'GET /api/me': broken },
    isRetried: true,
  },
  'a session that has ended': { path: at('/keys?x=1'), replies: { 'GET /api/me': new ParleyError('signed_out') } },
}
