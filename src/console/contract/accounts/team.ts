import { z } from 'zod'
import { advertiserRole, done, email, entries, id, role, time } from '../fields.ts'

const invitation = z.object({ id, email: z.string(), role, invitedBy: z.string(), createdAt: time, expiresAt: time })

export const team = entries({
  'GET /api/publishers/:publisher/team': {
    access: 'publisher',
    role: 'viewer',
    reply: z.object({
      members: z.array(
        z.object({
          id,
          name: z.string(),
          email: z.string(),
          role,
          twoFactorEnabled: z.boolean(),
          isYou: z.boolean(),
          createdAt: time,
        }),
      ),
      invitations: z.array(invitation),
    }),
  },
  // Inviting the same address again sends another mail and replaces the role.
  'POST /api/publishers/:publisher/invitations': {
    access: 'publisher',
    role: 'admin',
    freshProof: true,
    changesTeam: true,
    body: z.object({ email, role }),
    reply: invitation,
    // The mail says what the inviter wrote: not for somebody of whom nothing is known.
    confirmed: true,
    // Counting attempts takes another connection, and must not wait for one while it holds its own.
    network: true,
  },
  'DELETE /api/publishers/:publisher/invitations/:invitation': {
    access: 'publisher',
    role: 'admin',
    freshProof: true,
    changesTeam: true,
    reply: done,
  },
  'PATCH /api/publishers/:publisher/members/:member': {
    access: 'publisher',
    role: 'admin',
    freshProof: true,
    changesTeam: true,
    body: z.object({ role }),
    reply: done,
  },
  'DELETE /api/publishers/:publisher/members/:member': {
    access: 'publisher',
    role: 'admin',
    freshProof: true,
    changesTeam: true,
    reply: done,
  },
  'POST /api/publishers/:publisher/leave': {
    access: 'publisher',
    role: 'viewer',
    freshProof: true,
    changesTeam: true,
    reply: done,
  },

  // Only of an address that is confirmed: otherwise anybody could sign up with it and join.
  'GET /api/me/invitations': {
    access: 'user',
    reply: z.object({
      items: z.array(
        z.object({
          id,
          to: z.enum(['publisher', 'advertiser']),
          /** The publisher's or the advertiser's. */
          name: z.string(),
          role: z.enum([...role.options, ...advertiserRole.options]),
          invitedBy: z.string(),
          expiresAt: time,
        }),
      ),
    }),
  },
  'POST /api/me/invitations/:invitation/accept': {
    access: 'user',
    freshProof: true,
    /** The one that was joined; the other one is null. */
    reply: z.object({ publisherId: id.nullable(), advertiserId: id.nullable() }),
  },
  'POST /api/me/invitations/:invitation/decline': { access: 'user', reply: done },
})
