import { wordsOfAction } from '../../../../src/rules/accounts/audit-words.ts'
import type { Given, Replies } from '../canned-console.ts'
import { ago, id, OTHER_PROJECT, PROJECT } from './ids.ts'

type Entry = Given<'GET /api/publishers/:publisher/audit-log'>['items'][number]

function entry(seq: bigint, action: string, more: Partial<Entry> = {}): Entry {
  return {
    seq,
    at: ago({ hours: Number(seq) * 3 }),
    actorId: id(1),
    actor: 'Ada Keller',
    action,
    title: wordsOfAction(action),
    subject: null,
    projectId: null,
    ip: null,
    userAgent: null,
    details: {},
    ...more,
  }
}

const DONE = { done: true } as const

export const TEAM: Replies = {
  'GET /api/publishers/:publisher/team': {
    members: [
      member(1, 'Ada Keller', 'ada@example.com', { role: 'owner', isYou: true }),
      member(2, 'Bea Ford', 'bea@example.com', { role: 'admin', twoFactorEnabled: true }),
      member(3, 'Cem Aksoy', 'cem@example.com', { role: 'developer' }),
      member(4, 'Dana Wolf', 'dana@example.com', { role: 'viewer', twoFactorEnabled: true }),
    ],
    invitations: [
      invitation(61, 'eve@example.com', 'viewer', 'Ada Keller'),
      invitation(62, 'finn@example.com', 'developer', 'Bea Ford'),
    ],
  },
  'POST /api/publishers/:publisher/invitations': invitation(63, 'gil@example.com', 'admin', 'Ada Keller'),
  'DELETE /api/publishers/:publisher/invitations/:invitation': DONE,
  'PATCH /api/publishers/:publisher/members/:member': DONE,
  'DELETE /api/publishers/:publisher/members/:member': DONE,
  'POST /api/publishers/:publisher/leave': DONE,
  'PATCH /api/publishers/:publisher': DONE,
  'GET /api/publishers/:publisher/audit-log': ({ query }) =>
    query.after === undefined
      ? {
          items: [
            entry(9n, 'key.created', {
              subject: 'web server',
              projectId: PROJECT,
              ip: '192.0.2.9',
              userAgent: 'Firefox',
              details: { expiresInDays: 90 },
            }),
            entry(8n, 'member.role_changed', {
              actorId: id(2),
              actor: 'Bea Ford',
              subject: 'cem@example.com',
              ip: '2001:db8::8',
              details: { from: 'viewer', to: 'developer' },
            }),
            entry(7n, 'credit.granted', { actorId: null, actor: 'operator', projectId: OTHER_PROJECT }),
            entry(6n, 'domain.verified', { actorId: null, actor: 'Parley', projectId: id(99), details: { by: 'dns' } }),
          ],
          next: 'after-6',
        }
      : { items: [entry(5n, 'session.started', { ip: '198.51.100.5' })], next: null },
}

type Team = Given<'GET /api/publishers/:publisher/team'>

function member(n: number, name: string, email: string, more: Partial<Team['members'][number]>) {
  const role = 'viewer' as const
  return {
    id: id(n),
    name,
    email,
    role,
    twoFactorEnabled: false,
    isYou: false,
    createdAt: ago({ days: n * 6 }),
    ...more,
  }
}

function invitation(n: number, email: string, role: Team['invitations'][number]['role'], invitedBy: string) {
  return { id: id(n), email, role, invitedBy, createdAt: ago({ hours: n }), expiresAt: ago({ days: n - 65 }) }
}
