import { LRUCache } from 'lru-cache'
import { createLane, LaneFull, LaneTimeout } from '../platform/batch.ts'
import type { Secrets } from '../platform/secrets.ts'
import { ParleyError } from '../rules/errors.ts'
import { isPublishableKey, isSameDigest, isSecretKey, secretDigestOf } from '../rules/keys.ts'
import { isUnavailable, type Db } from '../store/database.ts'
import { findKeyRecords, type KeyRecord } from '../store/keys.ts'

/** Who calls: a proven key pair of an activated publisher's project with a verified domain. */
export type Caller = Pick<
  KeyRecord,
  'keyPairId' | 'projectId' | 'allowedModels' | 'contentRetentionDays' | 'isPlayground' | 'monetization'
>

export interface Keys {
  publishable: string | undefined
  secret: string | undefined
}

/** How old a cached answer may be. A completion's hold checks the truth again, so this bounds only GET /v1/models. */
const FRESH_MS = 2_000
/** How long a known pair is still believed while the store is away: a valid pair is never told 401 because of that. */
const STALE_MS = 60_000
const UNKNOWN_MS = 5_000
const CACHED_MAX = 50_000
const LOOKUP_WAIT_MS = 1_000

interface CachedRecord {
  record: KeyRecord
  readAt: number
}

/**
 * Answers 401 in one way for unknown, mismatched and malformed keys, so that nobody learns which half was wrong or
 * whether a publishable key exists. Only who proves the whole pair is told that it is inactive.
 */
export function createAuthenticate(db: Db, secrets: Secrets): (keys: Keys) => Promise<Caller> {
  const known = new LRUCache<string, CachedRecord>({ max: CACHED_MAX, ttl: STALE_MS })
  // Apart, so that made-up keys cannot push real ones out.
  const unknown = new LRUCache<string, true>({ max: CACHED_MAX, ttl: UNKNOWN_MS })
  const loading = new Map<string, Promise<KeyRecord | undefined>>()
  const lookups = createLane<string, KeyRecord | undefined>({
    run: (publishableKeys) => findKeyRecords(db, publishableKeys),
    batchMax: 256,
    queueMax: 10_000,
    isTransient: isUnavailable,
    retryEveryMs: 100,
  })
  const currentPepper = secrets.keyFor('key-pair-pepper')
  const nobodysDigest = Buffer.alloc(32)

  async function recordOf(publishable: string): Promise<KeyRecord | undefined> {
    const cached = known.get(publishable)
    if (cached && performance.now() - cached.readAt < FRESH_MS) return cached.record
    if (!cached && unknown.has(publishable)) return undefined
    try {
      return await load(publishable)
    } catch (error) {
      if (cached) return cached.record
      if (error instanceof LaneFull || error instanceof LaneTimeout) {
        throw new ParleyError('store_unavailable', { retryAfterSeconds: 2 })
      }
      throw error
    }
  }

  /** One look-up per key at a time, however many requests wait for it. */
  function load(publishable: string): Promise<KeyRecord | undefined> {
    let pending = loading.get(publishable)
    if (!pending) {
      pending = lookups
        .submit(publishable, LOOKUP_WAIT_MS)
        .then((record) => {
          if (record) known.set(publishable, { record, readAt: performance.now() })
          else {
            known.delete(publishable)
            unknown.set(publishable, true)
          }
          return record
        })
        .finally(() => loading.delete(publishable))
      loading.set(publishable, pending)
    }
    return pending
  }

  return async ({ publishable, secret }) => {
    if (!publishable || !secret) throw new ParleyError('keys_missing')
    if (!isPublishableKey(publishable) || !isSecretKey(secret)) throw new ParleyError('keys_invalid')
    const record = await recordOf(publishable)
    // The same work for a key that does not exist as for one that does.
    const pepper = record ? secrets.keyFor('key-pair-pepper', record.secretVersion) : currentPepper
    const isProven = isSameDigest(secretDigestOf(secret, pepper), record?.secretDigest ?? nobodysDigest)
    if (!record || !isProven) throw new ParleyError('keys_invalid')
    if (!record.isActive || (record.expiresAt && record.expiresAt.getTime() <= Date.now()))
      throw new ParleyError('key_inactive')
    if (!record.isAccountActivated) throw new ParleyError('account_not_activated')
    if (!record.isDomainVerified) throw new ParleyError('domain_not_verified')
    return record
  }
}
