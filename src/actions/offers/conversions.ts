import { randomBytes } from 'node:crypto'
import { CONVERSION_KEY_BYTES, conversionKeyFrom } from '../../rules/clicks/conversions.ts'
import { textDigestOf } from '../../rules/text-digest.ts'
import type { Tx } from '../../store/database.ts'
import * as conversions from '../../store/recommendations/conversions.ts'
import type { Actor } from '../actor.ts'
import { auditInstallation } from '../audit.ts'

interface AdvertiserAtHand {
  id: string
  name: string
}

/** Returns the key, which is stored nowhere. */
export async function makeConversionKey(tx: Tx, actor: Actor, advertiser: AdvertiserAtHand): Promise<string> {
  const key = conversionKeyFrom(randomBytes(CONVERSION_KEY_BYTES))
  await conversions.setConversionKey(tx, advertiser.id, textDigestOf(key))
  const change = { subject: advertiser.name, details: { id: advertiser.id } }
  await auditInstallation(tx, actor, 'advertiser.conversion_key_made', change)
  return key
}

/** Whether links of its recommendations name the click. */
export async function setAddsClickId(
  tx: Tx,
  actor: Actor,
  { advertiser, addsClickId }: { advertiser: AdvertiserAtHand; addsClickId: boolean },
): Promise<void> {
  await conversions.setAddsClickId(tx, advertiser.id, addsClickId)
  const change = { subject: advertiser.name, details: { id: advertiser.id } }
  await auditInstallation(tx, actor, addsClickId ? 'advertiser.click_id_added' : 'advertiser.click_id_left_out', change)
}
