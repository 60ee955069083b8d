import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { networkOf } from '../../rules/accounts/addresses.ts'
import { rateOf, takeToken, type Bucket } from '../../rules/calls/token-bucket.ts'
import type { KeyOwner, ParleyError } from '../../rules/errors.ts'
import { STORE_WAIT_MS } from '../../rules/limits.ts'
import { isPublishableKey, isSecretKey, looksLikeSessionSecret } from '../../rules/projects/keys.ts'
import type { Db } from '../../store/database.ts'
import { createLookups } from '../../store/lookups.ts'
import { findKeyRecords } from '../../store/projects/keys.ts'
import { ownerOf, type Caller, type Keys } from '../authenticate.ts'
import { keysOf } from '../headers.ts'

/**
 * The owners of requests that were refused before their keys were looked at, or without an owner being found: for a path that
 * does not exist, or a secret that is missing. Asked when the answer has been sent, so that no answer waits for it or gives
 * it away.
 */
export interface KeyOwners {
  /** Undefined: nobody knows. Never rejects. */
  find(request: FastifyRequest, refusal: ParleyError): Promise<KeyOwner | undefined>
}

interface Options {
  db: Db
  authenticate(keys: Keys): Promise<Caller>
  waitMs?: number | undefined
}

/** For each network. An integrator sends fewer, and a caller that guesses keys does not make the store look up more. */
const LOOKED_UP_PER_SECOND = 2
const REMEMBERED_MAX = 10_000

export function createKeyOwners({ db, authenticate, waitMs = STORE_WAIT_MS }: Options): KeyOwners {
  const rate = rateOf(LOOKED_UP_PER_SECOND)
  const networks = new LRUCache<string, Bucket>({ max: REMEMBERED_MAX })
  const pairs = createLookups((publishableKeys: readonly string[]) => findKeyRecords(db, publishableKeys))

  /** Undefined: the connection is gone, and its address with it. */
  function isTooOften(address: string | undefined): boolean {
    if (address === undefined) return true
    const network = networkOf(address)
    const { bucket, waitMs: untilNext } = takeToken(networks.get(network), rate, performance.now())
    networks.set(network, bucket)
    return untilNext > 0
  }

  /** Anybody may have sent a publishable key alone, so this is believed only of what a wrong secret could cause as well. */
  async function ownerOfKey({ publishable = '', secret }: Keys): Promise<KeyOwner | undefined> {
    const pair = await pairs.submit(publishable, waitMs)
    const viaSession = looksLikeSessionSecret(secret)
    return pair && { projectId: pair.projectId, keyPairId: pair.keyPairId, viaSession }
  }

  return {
    async find(request, { code }) {
      const keys = keysOf(request)
      if (!isPublishableKey(keys.publishable ?? '') || isTooOften(request.ip)) return undefined
      try {
        // A whole secret key was looked up before it was refused: then nobody has this publishable key.
        if (code === 'keys_missing' || (code === 'keys_invalid' && !isSecretKey(keys.secret ?? '')))
          return await ownerOfKey(keys)
        if (code === 'not_found' || code === 'method_not_allowed') return ownerOf(await authenticate(keys))
      } catch {
        // The store is away, or the keys are wrong: then nobody is told.
      }
      return undefined
    },
  }
}
