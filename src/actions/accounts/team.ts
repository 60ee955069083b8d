import type { MemberRole } from '../../rules/accounts/roles.ts'
import { holdRole, lockTeam } from '../../store/accounts/members.ts'
import type { Tx } from '../../store/database.ts'
import type { Person } from '../actor.ts'
import { notThere } from '../refusals.ts'

/** Returns the role of the person who changes a publisher's team. They keep it until the transaction ends. */
export async function lockRole(tx: Tx, person: Person, publisherId: string): Promise<MemberRole> {
  await lockTeam(tx, publisherId)
  const role = await holdRole(tx, publisherId, person.id)
  if (role === undefined) throw notThere('publisher')
  return role
}
