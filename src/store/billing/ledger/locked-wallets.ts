import { createLane, type Lane, type LaneOptions } from '../../../platform/batch.ts'
import type { ApplyBatch, LedgerAnswer, LedgerItem } from './ledger-items.ts'

/**
 * A statement locks all its wallets. One that somebody else has locked must keep nobody waiting but its own project: its
 * items leave the common lane for one of their own, over other connections, until they have caught up.
 */
export interface SideRoad {
  /** Returns those of the projects whose wallet no other transaction has locked. */
  findFree(projectIds: readonly string[]): Promise<ReadonlySet<string>>
  /** The ledger's statement, over connections that may wait. */
  apply: ApplyBatch
}

type LedgerLane = Lane<LedgerItem, LedgerAnswer>
type LedgerLaneOptions = LaneOptions<LedgerItem, LedgerAnswer>

/** The answer of the common lane to an item whose wallet is locked. */
class WalletLocked extends Error {}

const LOCK_NOT_AVAILABLE = '55P03'
const TRIES_MAX = 4

/** The lane of all wallets, and beside it one for each that is locked. */
export function createWalletLanes(options: LedgerLaneOptions, side: SideRoad): LedgerLane {
  const common = createLane<LedgerItem, LedgerAnswer>({ ...options, run: applyToFree })
  const asides = createAsides({ ...options, run: side.apply })

  async function applyToFree(items: readonly LedgerItem[]): Promise<readonly (LedgerAnswer | Error)[]> {
    const answers = new Map<LedgerItem, LedgerAnswer | Error | undefined>()
    let triesLeft = TRIES_MAX
    let rest = asides.all.size === 0 ? items : items.filter((item) => !asides.all.has(projectOf(item)))
    while (rest.length > 0) {
      try {
        const answered = await options.run(rest)
        if (rest === items) return answered
        rest.forEach((item, n) => answers.set(item, answered[n]))
        break
      } catch (error) {
        triesLeft -= 1
        rest = await withoutLocked(rest, error, triesLeft > 0)
      }
    }
    return items.map((item) => answers.get(item) ?? new WalletLocked())
  }

  /**
   * Throws the error where a locked wallet does not explain it. When all are free again, it was another batch that had one of
   * them, or what is counted for its account, for a moment: then all are tried again, at once and a few times.
   */
  async function withoutLocked(
    items: readonly LedgerItem[],
    error: unknown,
    mayTryAgain: boolean,
  ): Promise<readonly LedgerItem[]> {
    if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error
    const projects = new Set(items.map(projectOf))
    const free = await side.findFree([...projects])
    if (free.size === projects.size && !mayTryAgain) throw error
    return items.filter((item) => free.has(projectOf(item)))
  }

  return {
    async submit(item, waitMs) {
      const askedMs = performance.now()
      try {
        return await common.submit(item, waitMs)
      } catch (error) {
        if (!(error instanceof WalletLocked)) throw error
        return await asides.submit(item, waitMs - (performance.now() - askedMs))
      }
    },
    get queued() {
      return [...asides.all.values()].reduce((sum, lane) => sum + lane.queued, common.queued)
    },
    async idle() {
      await common.idle()
      await Promise.all([...asides.all.values()].map((lane) => lane.idle()))
    },
  }
}

/** Lanes of single projects. Each is there only while something is queued in it. */
function createAsides(common: LedgerLaneOptions) {
  const { onPutOff: _, onAnswered: __, ...options } = common
  const all = new Map<string, LedgerLane>()
  return {
    all,
    submit(item: LedgerItem, waitMs: number): Promise<LedgerAnswer> {
      const projectId = projectOf(item)
      const lane = all.get(projectId) ?? createLane(options)
      all.set(projectId, lane)
      const answer = lane.submit(item, waitMs)
      void lane.idle().then(() => all.get(projectId) === lane && all.delete(projectId))
      return answer
    },
  }
}

function projectOf(item: LedgerItem): string {
  return (item.part === 'settle' ? item.settlement : item.request).projectId
}
