/** The middle of some numbers, and what nearly none of them exceeds. */
export interface Ranks {
  usual: number
  high: number
}

const REMEMBERED = 64
/** Sorting 64 numbers takes 5 µs; once in 16 is often enough for an estimate. */
export const SORTED_EVERY = 16

/** The last numbers of one kind. */
export class Ranked {
  readonly #fewest: number
  readonly #ring: number[] = []
  #next = 0
  /** Undefined while there are too few. */
  ranks: Ranks | undefined

  constructor(fewest = SORTED_EVERY) {
    this.#fewest = fewest
  }

  /** Returns whether the ranks are others now. */
  add(number: number): boolean {
    this.#ring[this.#next] = number
    this.#next = (this.#next + 1) % REMEMBERED
    const { length } = this.#ring
    const isNew = length < SORTED_EVERY && length >= this.#fewest
    if (!isNew && this.#next % SORTED_EVERY !== 0) return false
    const sorted = ascending(this.#ring)
    this.ranks = { usual: at(sorted, 0.5), high: at(sorted, 0.95) }
    return true
  }
}

/** Fewer publishers than this are not believed by the others. */
const VOTERS_MIN = 2
/** Votes are counted again when one in so many has changed: counting thousands each time would take too long. */
const COUNTED_ANEW_SHARE = 8

/**
 * The middle of what publishers have seen, one vote each, for those who have not seen enough themselves. Of two it is the lower,
 * so one publisher can never raise what others hold or pay above what another has seen, too.
 */
export class Votes {
  #changes = 0
  #voters = 0
  ranks: Ranks | undefined

  /** Called when one of them has changed. */
  count(all: () => readonly Ranks[]): void {
    this.#changes += 1
    if (this.#changes * COUNTED_ANEW_SHARE < this.#voters) return
    const votes = all()
    this.#changes = 0
    this.#voters = votes.length
    const middle = (rank: keyof Ranks) => ascending(votes.map((vote) => vote[rank]))[(votes.length - 1) >> 1] as number
    this.ranks = votes.length < VOTERS_MIN ? undefined : { usual: middle('usual'), high: middle('high') }
  }
}

function ascending(numbers: readonly number[]): number[] {
  return numbers.toSorted((a, b) => a - b)
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] as number
}
