import type { FastifyInstance } from 'fastify'
import {
  changeAdvertiserRole,
  removeAdvertiserMember,
  signUpAdvertiser,
} from '../../actions/accounts/advertiser-members.ts'
import { expectDomainName } from '../../actions/projects/domains.ts'
import { notThere } from '../../actions/refusals.ts'
import type { AdvertiserRole, AdvertiserStatus } from '../../rules/accounts/advertisers.ts'
import { hindranceOf } from '../../rules/recommendations/pacing.ts'
import { standingOf } from '../../rules/offers/campaign-standing.ts'
import { listAdvertiserPeople } from '../../store/accounts/advertiser-members.ts'
import { listSpentByDay } from '../../store/billing/advertiser-payments.ts'
import { findAdvertiserBalance } from '../../store/billing/wallets.ts'
import type { Db } from '../../store/database.ts'
import { findAdvertiser } from '../../store/offers/advertisers.ts'
import { readFunds } from '../../store/offers/campaign-funds.ts'
import { listCampaigns } from '../../store/offers/campaigns.ts'
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

  route(app, world, 'GET /api/advertisers/:advertiser/members', async ({ db, user }) => {
    const items = (await listAdvertiserPeople(db)).map((person) => ({
      id: String(person.user_id),
      name: String(person.name),
      email: String(person.email),
      role: person.role as AdvertiserRole,
      isYou: person.user_id === user.id,
      createdAt: person.created_at ?? new Date(0),
    }))
    return { items }
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
