/** The roles of an advertiser's members, by what they may do. Each role includes the ones after it. */
export const ADVERTISER_ROLES = ['admin', 'editor', 'viewer'] as const
export type AdvertiserRole = (typeof ADVERTISER_ROLES)[number]

export function includesAdvertiserRole(held: AdvertiserRole, needed: AdvertiserRole): boolean {
  return ADVERTISER_ROLES.indexOf(held) <= ADVERTISER_ROLES.indexOf(needed)
}

/** Only what is active is recommended. Whoever signs up is pending until an operator activates them. */
export const ADVERTISER_STATUSES = ['pending', 'active', 'suspended'] as const
export type AdvertiserStatus = (typeof ADVERTISER_STATUSES)[number]

/** Each waits for the operator, and takes a name that nobody else can have. */
export const ADVERTISERS_PER_PERSON = 3
