import { LRUCache } from 'lru-cache'
import { DAY_MS } from '../../rules/durations.ts'
import { keyedDigest } from '../../rules/keyed-digest.ts'
import { clickNetworkOf } from '../../rules/clicks/networks.ts'
import { findClickSalt } from '../../store/recommendations/clicks.ts'
import type { Db } from '../../store/database.ts'

/**
 * The record of where a reader is: a tag of the network, by which two clicks of one day can be told to come from the
 * same one. The day's salt is destroyed when the day after is over, and then nobody can tell whose tag it was.
 */
export interface NetworkTags {
  /** Undefined: there is no salt of that day any more. Rejects while the store cannot say. */
  tagOf(address: string, at: Date): Promise<Buffer | undefined>
}

const TAG_BYTES = 16
/** Today's, yesterday's, and tomorrow's of a clock that is ahead. */
const DAYS_KEPT = 3

export function createNetworkTags(db: Db): NetworkTags {
  const salts = new LRUCache<string, Promise<Buffer | undefined>>({ max: DAYS_KEPT })
  const saltOf = (day: string) => {
    const yesterday = dayOf(new Date(Date.now() - DAY_MS))
    for (const old of salts.keys()) if (old < yesterday) salts.delete(old)
    // Destroyed, or about to be.
    if (day < yesterday) return Promise.resolve(undefined)
    const known = salts.get(day)
    if (known) return known
    const found = findClickSalt(db, day)
    salts.set(day, found)
    // A missing salt is looked for again: one that was not made yet will be, and the store will be back.
    const forget = () => void (salts.get(day) === found && salts.delete(day))
    found.then((salt) => salt ?? forget(), forget)
    return found
  }
  return {
    async tagOf(address, at) {
      const salt = await saltOf(dayOf(at))
      return salt && keyedDigest(salt).update(clickNetworkOf(address)).digest().subarray(0, TAG_BYTES)
    },
  }
}

function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10)
}
