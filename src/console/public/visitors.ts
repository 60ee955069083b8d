import { LRUCache } from 'lru-cache'
import { networkOf } from '../../rules/accounts/addresses.ts'
import { rateOf, takeToken, type Bucket } from '../../rules/calls/token-bucket.ts'
import { ParleyError } from '../../rules/errors.ts'

/** Far more than anybody reads; a program that watches the status asks every few seconds. */
const PAGES_PER_SECOND = 5
const NETWORKS_MAX = 10_000

export interface Visitors {
  /** Throws 429 for a network that asks for too many pages. */
  admit(address: string): void
}

/** Counts visitors in memory, where the pages for strangers are, too: nobody can make the store busy with them. */
export function createVisitors(elapsedMs: () => number): Visitors {
  const rate = rateOf(PAGES_PER_SECOND)
  const networks = new LRUCache<string, Bucket>({ max: NETWORKS_MAX })
  return {
    admit(address) {
      const network = networkOf(address)
      const { bucket, waitMs } = takeToken(networks.get(network), rate, elapsedMs())
      networks.set(network, bucket)
      if (waitMs > 0) throw new ParleyError('too_many_requests', { retryAfterSeconds: Math.ceil(waitMs / 1_000) })
    },
  }
}
