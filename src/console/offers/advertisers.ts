import type { FastifyInstance } from 'fastify'
import {
  changeAdvertiserRole,
  inviteAdvertiserMember,
  removeAdvertiserMember,
  signUpAdvertiser,
  withdrawAdvertiserInvitation,
} from '../../actions/accounts/advertiser-members.ts'
import { expectDomainName } from '../../actions/projects/domains.ts'
import { notThere } from '../../actions/refusals.ts'
import type { AdvertiserRole, AdvertiserStatus } from '../../rules/accounts/advertisers.ts'
import { hindranceOf } from '../../rules/recommendations/pacing.ts'
import { standingOf } from '../../rules/offers/campaign-standing.ts'
import { listAdvertiserPeople } from '../../store/accounts/advertiser-members.ts'
import { listInvitations } from '../../store/accounts/invitations.ts'
import { listSpentByDay } from '../../store/billing/advertiser-payments.ts'
import { findAdvertiserBalance } from '../../store/billing/wallets.ts'
import type { Db } from '../../store/database.ts'
import { findAdvertiser } from '../../store/offers/advertisers.ts'
import { readFunds } from '../../store/offers/campaign-funds.ts'
import { listCampaigns } from '../../store/offers/campaigns.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { invitationOf, throttleInvitations } from '../invitations.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

const DAYS_SHOWN = 30

export function advertiserRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'POST /api/me/advertisers', async ({ actor, body, change }) => {
    const { name, legalName } = body
    const domain = expectDomainName(body.domain, 'domain', world.installation.sandboxDomain)
    return { id: await change((tx) => signUpAdvertiser(tx, actor, { name, legalName, domain })) }
  })

  route(app, world, 'GET /api/advertisers/:advertiser', ({ db, advertiser }) => describe(db, advertiser.id))

  route(app, world, 'GET /api/advertisers/:advertiser/members', async ({ db, advertiser, user }) => {
    const members = (await listAdvertiserPeople(db)).map((person) => ({
      id: String(person.user_id),
      name: String(person.name),
      email: String(person.email),
      role: person.role as AdvertiserRole,
      twoFactorEnabled: person.two_factor_enabled ?? false,
      isYou: person.user_id === user.id,
      createdAt: person.created_at ?? new Date(0),
    }))
    const invitations = await listInvitations(db, { advertiserId: advertiser.id })
    return { members, invitations: invitations.map((row) => invitationOf(row, row.role as AdvertiserRole)) }
  })

  route(app, world, 'POST /api/advertisers/:advertiser/invitations', (call) => invite(world, call))

  route(app, world, 'DELETE /api/advertisers/:advertiser/invitations/:invitation', async (call) => {
    const { db, actor, advertiser, params } = call
    await withdrawAdvertiserInvitation(db, actor, { advertiser, invitationId: params.invitation })
    return { done: true }
  })

  route(app, world, 'PATCH /api/advertisers/:advertiser/members/:member', async (call) => {
    const { db, actor, advertiser, params, body } = call
    await changeAdvertiserRole(db, actor, { advertiser, memberId: params.member, role: body.role })
    return { done: true }
  })

  route(app, world, 'DELETE /api/advertisers/:advertiser/members/:member', async (call) => {
    const { db, actor, advertiser, params } = call
    await removeAdvertiserMember(db, actor, { advertiser, memberId: params.member })
    return { done: true }
  })

  route(app, world, 'POST /api/advertisers/:advertiser/leave', async ({ db, actor, advertiser }) => {
    await removeAdvertiserMember(db, actor, { advertiser, memberId: actor.id })
    return { done: true }
  })
}

async function invite(world: World, call: ConsoleRequest<'POST /api/advertisers/:advertiser/invitations'>) {
  const { actor, advertiser, body } = call
  await throttleInvitations(world, advertiser, body.email)
  const installation = { secrets: world.secrets, consoleUrl: world.installation.consoleUrl }
  const invited = await call.inTenant((tx) => inviteAdvertiserMember(tx, actor, { advertiser, ...body, installation }))
  return invitationOf(invited, body.role)
}

async function describe(db: Db, advertiserId: string) {
  const advertiser = await findAdvertiser(db, { id: advertiserId })
  if (!advertiser) throw notThere('advertiser')
  const campaigns = await listCampaigns(db, advertiserId)
  const funds = await readFunds(
    db,
    campaigns.map(({ id }) => id),
  )
  const nowMs = Date.now()
  const active = campaigns.filter(({ id, status, starts_at: startsAt, ends_at: endsAt }) => {
    const own = funds.get(id)
    return standingOf({ status, startsAt, endsAt }, own && hindranceOf(own, nowMs), nowMs) === 'running'
  })
  const days = await listSpentByDay(db, advertiserId, DAYS_SHOWN)
  return {
    name: advertiser.name,
    legalName: advertiser.legal_name,
    domain: advertiser.domain,
    isDomainVerified: advertiser.domain_verified_at !== null,
    status: advertiser.status as AdvertiserStatus,
    createdAt: advertiser.created_at,
    balanceNanos: await findAdvertiserBalance(db, advertiserId),
    spentTodayNanos: days.at(-1)?.spentNanos ?? 0n,
    days,
    campaigns: campaigns.length,
    activeCampaigns: active.length,
    offers: campaigns.reduce((sum, { offers }) => sum + Number(offers ?? 0n), 0),
  }
}
