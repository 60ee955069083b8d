import type { Given, Replies } from '../canned-console.ts'
import { ADVERTISER_OF_MINE, ago, id, OTHER_PROJECT, OTHER_PUBLISHER, POOR_PROJECT, PROJECT, PUBLISHER } from './ids.ts'

type Me = Given<'GET /api/me'>
export type Membership = Me['publishers'][number]

export const RECIPES = {
  id: PROJECT,
  name: 'Recipes',
  domain: 'recipes.example.com',
  domainVerifiedAt: ago({ days: 61 }),
  balanceNanos: 42_317_000_000n,
  alertNanos: 15_250_000_000n,
  isSandbox: false,
  createdAt: ago({ days: 63 }),
}
const WEATHER = {
  id: OTHER_PROJECT,
  name: 'Weather',
  domain: 'weather.example.net',
  domainVerifiedAt: null,
  balanceNanos: 730_000_000n,
  alertNanos: null,
  isSandbox: false,
  createdAt: ago({ days: 5 }),
}
const GARDEN = {
  id: POOR_PROJECT,
  name: 'Garden',
  domain: 'garden.example.org',
  domainVerifiedAt: ago({ days: 17 }),
  balanceNanos: 880_000_000n,
  alertNanos: null,
  isSandbox: false,
  createdAt: ago({ days: 18 }),
}

export const ME: Me = {
  user: {
    id: id(1),
    name: 'Ada Keller',
    email: 'ada@example.com',
    emailVerified: true,
    twoFactorEnabled: false,
    passkeys: 2,
    createdAt: ago({ days: 90 }),
  },
  publishers: [
    {
      id: PUBLISHER,
      name: 'Keller Press',
      role: 'owner',
      activatedAt: ago({ days: 89 }),
      projects: [RECIPES, WEATHER, GARDEN],
    },
    { id: OTHER_PUBLISHER, name: 'North Post', role: 'admin', activatedAt: ago({ days: 33 }), projects: [] },
  ],
  advertisers: [
    { id: ADVERTISER_OF_MINE, name: 'Lamp Works', domain: 'lamps.example.com', status: 'active', role: 'admin' },
  ],
  invitations: 2,
  installation: {
    gatewayUrl: 'https://gateway.example.com',
    consoleUrl: 'http://console.test',
    canPay: true,
    requiresApproval: false,
  },
}

/** The same person, with something else in the user, the first publisher or its first project. */
export function meWith(changes: {
  user?: Partial<Me['user']>
  publisher?: Partial<Membership>
  project?: Partial<Membership['projects'][number]>
  installation?: Partial<Me['installation']>
}): { 'GET /api/me': Me } {
  const [first, ...others] = ME.publishers as [Membership, ...Membership[]]
  const projects = [{ ...RECIPES, ...changes.project }, WEATHER, GARDEN]
  return {
    'GET /api/me': {
      ...ME,
      user: { ...ME.user, ...changes.user },
      publishers: [{ ...first, projects, ...changes.publisher }, ...others],
      installation: { ...ME.installation, ...changes.installation },
    },
  }
}

const DONE = { done: true } as const

export const ACCOUNT: Replies = {
  'POST /api/auth/sign-up/email': DONE,
  'POST /api/auth/send-verification-email': DONE,
  'POST /api/auth/verify-email': { activated: true },
  'POST /api/auth/sign-in/email': { twoFactor: false },
  'POST /api/auth/two-factor/verify-totp': DONE,
  'POST /api/auth/two-factor/verify-backup-code': DONE,
  'POST /api/auth/sign-out': DONE,
  'POST /api/auth/request-password-reset': DONE,
  'POST /api/auth/reset-password': DONE,
  'POST /api/auth/passkey/options': {
    challenge: 'Y2hhbGxlbmdl',
    rpId: 'console.test',
    timeout: 60_000,
    userVerification: 'required',
    allowCredentials: [],
  },
  'GET /api/me': ME,
  'PATCH /api/me': DONE,
  'POST /api/me/password': DONE,
  'POST /api/me/proof': DONE,
  'GET /api/me/sessions': {
    items: [
      session(31, { isCurrent: true, ip: '192.0.2.31', userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' }),
      session(32, { ip: '198.51.100.32', userAgent: 'Mozilla/5.0 (iPhone) Version/26.0 Safari/605.1' }),
      session(33, { ip: null, userAgent: null }),
    ],
  },
  'DELETE /api/me/sessions/:session': DONE,
  'DELETE /api/me/sessions': DONE,
  'POST /api/me/two-factor': {
    uri: 'otpauth://totp/Parley:ada%40example.com?secret=JBSWY3DPEHPK3PXP&issuer=Parley',
    recoveryCodes: ['aaaaa-11111', 'bbbbb-22222', 'ccccc-33333'],
  },
  'POST /api/me/two-factor/confirm': DONE,
  'POST /api/me/two-factor/recovery-codes': { recoveryCodes: ['ddddd-44444', 'eeeee-55555'] },
  'POST /api/me/two-factor/disable': DONE,
  'POST /api/me/delete': DONE,
  'GET /api/me/passkeys': {
    items: [
      { id: id(41), name: 'Phone', createdAt: ago({ days: 40 }), lastUsedAt: ago({ hours: 7 }) },
      { id: id(42), name: 'Yellow key', createdAt: ago({ days: 12 }), lastUsedAt: null },
    ],
  },
  'PATCH /api/me/passkeys/:passkey': DONE,
  'DELETE /api/me/passkeys/:passkey': DONE,
  'GET /api/me/invitations': {
    items: [
      {
        id: id(51),
        to: 'publisher',
        name: 'Coast Daily',
        role: 'viewer',
        invitedBy: 'Bo Lind',
        expiresAt: ago({ days: -3 }),
      },
      {
        id: id(52),
        to: 'advertiser',
        name: 'Hill Lamps',
        role: 'admin',
        invitedBy: 'Cy Moor',
        expiresAt: ago({ days: -6, hours: 2 }),
      },
    ],
  },
  'POST /api/me/invitations/:invitation/accept': { publisherId: OTHER_PUBLISHER, advertiserId: null },
  'POST /api/me/invitations/:invitation/decline': DONE,
}

function session(n: number, more: { isCurrent?: boolean; ip: string | null; userAgent: string | null }) {
  return {
    id: id(n),
    isCurrent: false,
    createdAt: ago({ days: n }),
    lastSeenAt: ago({ minutes: n * 7 }),
    expiresAt: ago({ days: -n }),
    ...more,
  }
}
