import { uuidv7 } from '../../platform/uuid.ts'
import type { AdvertiserStatus } from '../../rules/accounts/advertisers.ts'
import type { Tx } from '../../store/database.ts'
import {
  insertAdvertiser,
  setAdvertiserStatus as setStatus,
  type NewAdvertiser,
} from '../../store/offers/advertisers.ts'
import type { Actor } from '../actor.ts'
import { auditInstallation } from '../audit.ts'

export async function createAdvertiser(
  tx: Tx,
  actor: Actor,
  advertiser: Omit<NewAdvertiser, 'id'>,
): Promise<NewAdvertiser> {
  const made = { ...advertiser, id: uuidv7() }
  await insertAdvertiser(tx, made)
  const { id, name, domain, status } = made
  await auditInstallation(tx, actor, 'advertiser.created', { subject: name, details: { id, domain, status } })
  return made
}

/** Whether anything of it is recommended. */
export async function setAdvertiserStatus(
  tx: Tx,
  actor: Actor,
  { advertiser, status }: { advertiser: { id: string; name: string }; status: AdvertiserStatus },
): Promise<void> {
  await setStatus(tx, advertiser.id, status)
  const change = { subject: advertiser.name, details: { id: advertiser.id } }
  await auditInstallation(tx, actor, `advertiser.${status}`, change)
}
