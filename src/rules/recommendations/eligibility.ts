/**
 * Whether an offer may take part, apart from how well it fits. Each check stands alone, so that a publisher's block holds
 * whatever else is true. What is out of stock, not approved, removed, or in a language that the gates do not judge is
 * not in the index at all.
 */
export interface OfferFacts {
  id: string
  campaignId: string
  feedId: string
  /** Variants of one product share it; empty: it has none. */
  itemGroup: string
  /** "Electronics > Audio > Headphones". */
  category: string
  /** The host of the landing page. */
  host: string
}

/** A campaign that takes part now: active, begun and not over, of an advertiser that is active. */
export interface LiveCampaign {
  id: string
  advertiserId: string
  /** As readers see it. */
  advertiser: string
  domain: string
  bidNanos: bigint
}

export interface CampaignDates {
  startsAtMs: number | undefined
  endsAtMs: number | undefined
}

/** One publisher's blocks, prepared once per match. */
export interface Blocks {
  categories: readonly string[]
  advertisers: ReadonlySet<string>
  domains: readonly string[]
  seenOffers: ReadonlySet<string>
}

export function blocksOf(request: {
  blockedCategories: readonly string[]
  blockedAdvertisers: readonly string[]
  blockedDomains: readonly string[]
  seenOffers: readonly string[]
}): Blocks {
  return {
    categories: request.blockedCategories.map(pathOf).filter((path) => path !== ''),
    advertisers: new Set(request.blockedAdvertisers.map((id) => id.toLowerCase())),
    domains: request.blockedDomains.map((domain) =>
      domain
        .trim()
        .toLowerCase()
        .replace(/^\.+|\.+$/g, ''),
    ),
    seenOffers: new Set(request.seenOffers.map((id) => id.toLowerCase())),
  }
}

export function isRunning({ startsAtMs, endsAtMs }: CampaignDates, nowMs: number): boolean {
  return (startsAtMs === undefined || startsAtMs <= nowMs) && (endsAtMs === undefined || nowMs < endsAtMs)
}

export function isCampaignBlocked(campaign: Pick<LiveCampaign, 'advertiserId' | 'domain'>, blocks: Blocks): boolean {
  return blocks.advertisers.has(campaign.advertiserId) || isDomainBlocked(campaign.domain, blocks)
}

/** For an offer of a campaign that is live and not blocked, from a feed that is recent enough. */
export function isOfferBlocked(offer: Pick<OfferFacts, 'id' | 'host' | 'category'>, blocks: Blocks): boolean {
  return (
    blocks.seenOffers.has(offer.id) || isDomainBlocked(offer.host, blocks) || isCategoryBlocked(offer.category, blocks)
  )
}

/** A blocked domain blocks what is below it, and nothing that only ends like it. */
function isDomainBlocked(host: string, { domains }: Blocks): boolean {
  return domains.some((domain) => domain !== '' && (host === domain || host.endsWith(`.${domain}`)))
}

/** "Apparel" blocks "Apparel > Shoes" and not "Apparel care". */
export function isCategoryBlocked(category: string, { categories }: Pick<Blocks, 'categories'>): boolean {
  if (categories.length === 0) return false
  const path = pathOf(category)
  return categories.some((blocked) => path === blocked || path.startsWith(`${blocked} > `))
}

function pathOf(category: string): string {
  return category
    .toLowerCase()
    .split('>')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join(' > ')
}
