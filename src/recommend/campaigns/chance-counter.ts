import type { CampaignChances } from '../../store/offers/campaign-chances.ts'

/**
 * Counts, for every campaign, the conversations in which it could have been recommended and how far it came. In memory until it
 * is handed over: a matcher that dies loses a minute of it, which moves no money.
 */
export interface ChanceCounter {
  /** Counts one conversation: the campaigns that fitted it, those between which bids decided, and the one that won. */
  note(conversation: { fitted: Iterable<string>; contended: Iterable<string>; won: string | undefined }): void
  /** Takes the counts since the last time. Each campaign was there for a share of the conversations. */
  take(present: Iterable<{ id: string; share: number }>): CampaignChances[]
  /** Takes back counts that could not be written. */
  giveBack(counted: readonly CampaignChances[]): void
}

type Counted = Record<'open' | 'fitted' | 'contended' | 'won', number>

export function createChanceCounter(): ChanceCounter {
  const counts = new Map<string, Counted>()
  let opened = 0

  function add(id: string, name: keyof Counted, times: number): void {
    const counted = counts.get(id) ?? { open: 0, fitted: 0, contended: 0, won: 0 }
    counted[name] += times
    counts.set(id, counted)
  }

  return {
    note({ fitted, contended, won }) {
      opened += 1
      for (const id of fitted) add(id, 'fitted', 1)
      for (const id of contended) add(id, 'contended', 1)
      if (won !== undefined) add(won, 'won', 1)
    },
    take(present) {
      if (opened > 0) for (const { id, share } of present) add(id, 'open', opened * share)
      opened = 0
      const taken = [...counts].flatMap(([campaignId, { open, fitted, contended, won }]) => {
        // A part of a conversation waits for the next time.
        const whole = Math.floor(open)
        counts.delete(campaignId)
        if (open > whole) add(campaignId, 'open', open - whole)
        if (whole + fitted === 0) return []
        const rest = { fitted: BigInt(fitted), contended: BigInt(contended), won: BigInt(won) }
        return [{ campaignId, open: BigInt(whole), ...rest }]
      })
      return taken
    },
    giveBack(counted) {
      for (const { campaignId, ...chances } of counted)
        for (const [name, times] of Object.entries(chances)) add(campaignId, name as keyof Counted, Number(times))
    },
  }
}
