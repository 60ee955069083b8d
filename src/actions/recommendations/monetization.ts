import { formatCredits } from '../../rules/money.ts'
import type { MonetizationSettings } from '../../rules/recommendations/matching.ts'
import { BLOCKED_ADVERTISERS_MAX, obstacleToOn, type SafetyProof } from '../../rules/recommendations/monetization.ts'
import type { Tx } from '../../store/database.ts'
import { listAdvertisers, lockMonetization, updateMonetization } from '../../store/recommendations/monetization.ts'
import { isSandbox } from '../../store/projects/sandboxes.ts'
import { SANDBOX_REFUSALS } from '../../rules/sandbox.ts'
import type { Actor } from '../actor.ts'
import { auditProject, type ProjectAtHand } from '../audit.ts'
import { conflict, notThere } from '../refusals.ts'

/** The settings for what a project allows to be recommended in its replies. */

type Mode = MonetizationSettings['mode']

/** Off and test are always possible: only what readers would see has conditions, and nobody's readers see a sandbox. */
export async function changeMonetizationMode(
  tx: Tx,
  actor: Actor,
  { project, mode, safetyProof }: { project: ProjectAtHand; mode: Mode; safetyProof: () => SafetyProof },
): Promise<void> {
  const settings = await lockMonetization(tx, project.id)
  if (settings.mode === mode) return
  const facts = { ...settings, isSandbox: await isSandbox(tx, project.id) }
  const obstacle = mode === 'on' ? obstacleToOn(facts, safetyProof()) : undefined
  if (obstacle !== undefined) throw conflict(obstacle)
  await updateMonetization(tx, project.id, { mode })
  const details = { before: settings.mode, after: mode }
  await auditProject(tx, actor, project, 'monetization.mode_changed', { details })
}

/**
 * Nobody switches it on for children by changing one word afterwards: another audience switches it off. Returns the mode
 * that it has then.
 */
export async function changeMonetization(
  tx: Tx,
  actor: Actor,
  { project, settings }: { project: ProjectAtHand; settings: Partial<MonetizationSettings> },
): Promise<Mode> {
  const before = await lockMonetization(tx, project.id)
  // Each floor that is tried tells whether an advertiser would pay it, and sandboxes cost nothing to make.
  const isNewFloor = (settings.floorNanos ?? 0n) > 0n && settings.floorNanos !== before.floorNanos
  if (isNewFloor && (await isSandbox(tx, project.id))) throw conflict(SANDBOX_REFUSALS.floor)
  const isEnded = before.mode === 'on' && (settings.audience ?? 'general') !== 'general'
  const changes = changesOf(before, { ...settings, ...(isEnded && { mode: 'off' }) })
  if (Object.keys(changes).length === 0) return before.mode
  await updateMonetization(tx, project.id, changes)
  const details = Object.fromEntries(
    Object.entries(changes).map(([name, after]) => [name, difference(before[name as keyof typeof before], after)]),
  )
  await auditProject(tx, actor, project, 'monetization.changed', { details })
  return changes.mode ?? before.mode
}

export async function setAdvertiserBlocked(
  tx: Tx,
  actor: Actor,
  { project, advertiserId, isBlocked }: { project: ProjectAtHand; advertiserId: string; isBlocked: boolean },
): Promise<void> {
  const [advertiser] = await listAdvertisers(tx, [advertiserId])
  if (!advertiser) throw notThere('advertiser')
  const { blockedAdvertisers: before } = await lockMonetization(tx, project.id)
  const others = before.filter((id) => id !== advertiser.id)
  const blockedAdvertisers = isBlocked ? [...others, advertiser.id] : others
  if (blockedAdvertisers.length === before.length) return
  if (blockedAdvertisers.length > BLOCKED_ADVERTISERS_MAX)
    throw conflict(
      `At most ${BLOCKED_ADVERTISERS_MAX} advertisers can be blocked. Unblock one first, or block a category.`,
    )
  await updateMonetization(tx, project.id, { blockedAdvertisers })
  const action = isBlocked ? 'monetization.advertiser_blocked' : 'monetization.advertiser_unblocked'
  await auditProject(tx, actor, project, action, { subject: advertiser.name })
}

function changesOf(before: MonetizationSettings, wanted: Partial<MonetizationSettings>): Partial<MonetizationSettings> {
  const isOther = ([name, value]: [string, unknown]) =>
    value !== undefined && plain(value) !== plain(before[name as keyof MonetizationSettings])
  return Object.fromEntries(Object.entries(wanted).filter(isOther))
}

const NAMED_MAX = 20

/** For the log: of a list only what came and went. */
function difference(before: unknown, after: unknown): unknown {
  if (!Array.isArray(before) || !Array.isArray(after)) return `${plain(before)} → ${plain(after)}`
  const added = after.filter((each) => !before.includes(each))
  const removed = before.filter((each) => !after.includes(each))
  return { added: added.slice(0, NAMED_MAX), removed: removed.slice(0, NAMED_MAX) }
}

function plain(value: unknown): string {
  if (typeof value === 'bigint') return formatCredits(value)
  return Array.isArray(value) ? JSON.stringify(value) : String(value)
}
