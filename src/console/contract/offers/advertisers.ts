import { z } from 'zod'
import { ADVERTISER_STATUSES } from '../../../rules/accounts/advertisers.ts'
import { shownNameProblemOf } from '../../../rules/offers/shown-name.ts'
import { advertiserRole, amount, count, done, email, entries, id, name, time } from '../fields.ts'

/** The name that readers see before each recommendation. */
const shownName = z
  .string()
  .trim()
  .superRefine((text, context) => {
    const problem = shownNameProblemOf(text)
    if (problem !== undefined) context.addIssue(problem)
  })

const domain = z.object({
  name: z.string(),
  /** Null: not verified yet. */
  verifiedAt: time.nullable(),
  provenBy: z.enum(['dns', 'file', 'operator']).nullable(),
  record: z.object({ name: z.string(), host: z.string(), zone: z.string(), value: z.string() }),
  file: z.object({ url: z.string(), content: z.string() }),
  /** The findings of a check that has just run, in words. */
  seen: z.object({ record: z.string(), file: z.string() }).nullable(),
})

const invitation = z.object({
  id,
  email: z.string(),
  role: advertiserRole,
  invitedBy: z.string(),
  createdAt: time,
  expiresAt: time,
})

export const advertisers = entries({
  /** It is pending until an operator activates it. */
  'POST /api/me/advertisers': {
    access: 'user',
    confirmed: true,
    body: z.object({
      name: shownName,
      legalName: name,
      domain: z.string().trim().min(1, 'Enter a domain like example.com.').max(2_000),
    }),
    reply: z.object({ id }),
  },
  'GET /api/advertisers/:advertiser': {
    access: 'advertiser',
    advertiserRole: 'viewer',
    reply: z.object({
      name: z.string(),
      legalName: z.string().nullable(),
      domain: z.string(),
      isDomainVerified: z.boolean(),
      status: z.enum(ADVERTISER_STATUSES),
      createdAt: time,
      balanceNanos: amount,
      spentTodayNanos: amount,
      /** The last 30 days, today included. */
      days: z.array(z.object({ at: time, clicks: count, spentNanos: amount })),
      campaigns: count,
      /** Campaigns that may be recommended as far as their dates and their switch go. */
      activeCampaigns: count,
      offers: count,
    }),
  },
  'GET /api/advertisers/:advertiser/domain': { access: 'advertiser', advertiserRole: 'viewer', reply: domain },
  // Looks for the proof now. A few times a minute at most.
  'POST /api/advertisers/:advertiser/domain/check': {
    access: 'advertiser',
    advertiserRole: 'editor',
    network: true,
    reply: domain,
  },
  'GET /api/advertisers/:advertiser/members': {
    access: 'advertiser',
    advertiserRole: 'viewer',
    reply: z.object({
      members: z.array(
        z.object({
          id,
          name: z.string(),
          email: z.string(),
          role: advertiserRole,
          twoFactorEnabled: z.boolean(),
          isYou: z.boolean(),
          createdAt: time,
        }),
      ),
      invitations: z.array(invitation),
    }),
  },
  // As in a publisher's team: inviting the same address again sends another mail and replaces the role.
  'POST /api/advertisers/:advertiser/invitations': {
    access: 'advertiser',
    advertiserRole: 'admin',
    freshProof: true,
    changesTeam: true,
    body: z.object({ email, role: advertiserRole }),
    reply: invitation,
    confirmed: true,
    network: true,
  },
  'DELETE /api/advertisers/:advertiser/invitations/:invitation': {
    access: 'advertiser',
    advertiserRole: 'admin',
    freshProof: true,
    changesTeam: true,
    reply: done,
  },
  'PATCH /api/advertisers/:advertiser/members/:member': {
    access: 'advertiser',
    advertiserRole: 'admin',
    freshProof: true,
    changesTeam: true,
    body: z.object({ role: advertiserRole }),
    reply: done,
  },
  'DELETE /api/advertisers/:advertiser/members/:member': {
    access: 'advertiser',
    advertiserRole: 'admin',
    freshProof: true,
    changesTeam: true,
    reply: done,
  },
  'POST /api/advertisers/:advertiser/leave': {
    access: 'advertiser',
    advertiserRole: 'viewer',
    freshProof: true,
    changesTeam: true,
    reply: done,
  },
})
