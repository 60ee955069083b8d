/** The roles of a publisher's members, by what they may do. Each role includes the ones after it. */
export const ROLES = ['owner', 'admin', 'developer', 'viewer'] as const
export type MemberRole = (typeof ROLES)[number]

/** The roles that somebody with this one may offer in an invitation. */
export function invitableRoles(held: MemberRole): MemberRole[] {
  return includesRole(held, 'admin') ? ROLES.filter((offered) => includesRole(held, offered)) : []
}

export function includesRole(held: MemberRole, needed: MemberRole): boolean {
  return ROLES.indexOf(held) <= ROLES.indexOf(needed)
}
