import type { Tx } from '../../store/database.ts'
import { setRecommendationSwitch as set } from '../../store/recommendations/switch.ts'
import type { Actor } from '../actor.ts'
import { auditInstallation } from '../audit.ts'

/** For the whole installation; what projects chose is kept. */
export async function setRecommendationSwitch(tx: Tx, actor: Actor, { isOn }: { isOn: boolean }): Promise<void> {
  await set(tx, isOn)
  await auditInstallation(tx, actor, isOn ? 'recommendations.switched_on' : 'recommendations.switched_off')
}
