import { uuidv7 } from '../../platform/uuid.ts'
import { formatCredits } from '../../rules/money.ts'
import { CAMPAIGNS_MAX } from '../../rules/offers/advertiser-limits.ts'
import type { Tx } from '../../store/database.ts'
import { lockAdvertiser } from '../../store/offers/advertisers.ts'
import {
  countCampaigns,
  findCampaign,
  insertCampaign,
  updateCampaign,
  type CampaignSettings,
  type NewCampaign,
} from '../../store/offers/campaigns.ts'
import type { Actor } from '../actor.ts'
import { auditAdvertiser } from '../audit.ts'
import { conflict, wrongField } from '../refusals.ts'

interface CampaignAtHand {
  id: string
  advertiser_id: string
  name: string
  advertiser: string
  starts_at: Date | null
  ends_at: Date | null
}

/** Returns its id. */
export async function createCampaign(
  tx: Tx,
  actor: Actor,
  {
    advertiser,
    campaign,
  }: { advertiser: { id: string; name: string }; campaign: Omit<NewCampaign, 'id' | 'advertiser_id'> },
): Promise<string> {
  expectOrder(campaign.starts_at, campaign.ends_at)
  // So that two at the same time are not both the last one, nor both of one name.
  await lockAdvertiser(tx, advertiser.id)
  if (await findCampaign(tx, { advertiserId: advertiser.id, name: campaign.name }))
    throw wrongField('name', `${advertiser.name} already has a campaign "${campaign.name}".`)
  if ((await countCampaigns(tx, advertiser.id)) >= CAMPAIGNS_MAX)
    throw conflict(`An advertiser has ${CAMPAIGNS_MAX} campaigns at most. Change one that is over.`)
  const id = uuidv7()
  await insertCampaign(tx, { ...campaign, id, advertiser_id: advertiser.id })
  const { name, ...settings } = campaign
  const details = { id, advertiser: advertiser.name, ...settingDetails(settings) }
  await auditAdvertiser(tx, actor, advertiser.id, 'campaign.created', { subject: name, details })
  return id
}

export async function changeCampaign(
  tx: Tx,
  actor: Actor,
  { campaign, settings }: { campaign: CampaignAtHand; settings: CampaignSettings },
): Promise<void> {
  const { starts_at: starts = campaign.starts_at, ends_at: ends = campaign.ends_at } = settings
  expectOrder(starts, ends)
  await updateCampaign(tx, campaign.id, settings)
  const details = { id: campaign.id, advertiser: campaign.advertiser, ...settingDetails(settings) }
  await auditAdvertiser(tx, actor, campaign.advertiser_id, 'campaign.changed', { subject: campaign.name, details })
}

function expectOrder(starts: Date | null | undefined, ends: Date | null | undefined): void {
  if (starts && ends && ends <= starts) throw wrongField('endsAt', 'A campaign must end after it begins.')
}

/** Hints are logged as their number: the log has no room for the advertiser's words. */
function settingDetails(settings: CampaignSettings): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]: [string, unknown]) => {
      if (typeof value === 'bigint') return [name.replace(/_nanos$/, ''), formatCredits(value)]
      return [name, Array.isArray(value) ? value.length : value]
    }),
  )
}
