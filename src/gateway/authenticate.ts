import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Log } from '../platform/log.ts'
import type { Secrets } from '../platform/secrets.ts'
import { MINUTE_MS } from '../rules/durations.ts'
import { ParleyError } from '../rules/errors.ts'
import { isPublishableKey, isSameDigest, isSecretKey, secretDigestOf } from '../rules/projects/keys.ts'
import { STORE_WAIT_MS } from '../rules/limits.ts'
import { orUnavailable, type Db } from '../store/database.ts'
import { createLookups } from '../store/lookups.ts'
import { findKeyRecords, type KeyRecord } from '../store/projects/keys.ts'
import { orLacking } from './missing-secret.ts'

/** Who calls: a proven key pair of an activated publisher's project with a verified domain. */
export type Caller = Pick<
  KeyRecord,
  | 'keyPairId'
  | 'countedAs'
  | 'projectId'
  | 'publisherId'
  | 'allowedModels'
  | 'contentRetentionDays'
  | 'isPlayground'
  | 'monetization'
  | 'isWalletEmpty'
>

export interface Keys {
  publishable: string | undefined
  secret: string | undefined
}

/** How old a cached answer may be. A completion's hold checks the truth again, so this bounds only models and receipts. */
const FRESH_MS = 2_000
/** How long a known pair is still believed while the store is away: a valid pair is never told 401 because of that. */
const STALE_MS = MINUTE_MS
const CACHED_MAX = 50_000
/** When a wrong pair is refused: later than a look-up takes, so that nobody can measure whether and how there was one. */
const REFUSED_AFTER_MS = 50

interface AuthenticateOptions {
  db: Db
  secrets: Secrets
  log: Log
  waitMs?: number | undefined
}

interface CachedRecord {
  record: KeyRecord
  readAt: number
}

/**
 * Answers 401 in one way for unknown, mismatched and malformed keys, so that nobody learns which half was wrong or
 * whether a publishable key exists. Only who proves the whole pair is told that it is inactive.
 *
 * Whether a pair may call is also said in functions/ledger_hold.sql and src/store/calls/idempotency.ts: the three must say
 * the same.
 *
 * What is known of a publishable key answers only those who have its secret. For everybody else a key that exists goes the
 * way of one that does not: the same look-up, the same work, the same wait, and 503 while the store is away.
 */
export function createAuthenticate(options: AuthenticateOptions): (keys: Keys) => Promise<Caller> {
  const { db, secrets, log, waitMs = STORE_WAIT_MS } = options
  const known = new LRUCache<string, CachedRecord>({ max: CACHED_MAX, ttl: STALE_MS })
  /** Whole pairs that are wrong. Not publishable keys: a stranger's wrong secret must not keep the owner out. */
  const wrong = new LRUCache<string, true>({ max: CACHED_MAX, ttl: FRESH_MS })
  const load = createLoad(db, known, waitMs)
  const currentPepper = secrets.keyFor('key-pair-pepper')
  const nobodysDigest = Buffer.alloc(32)

  /** Of the secret that the pair was made under. Who does not have it cannot tell whether the pair is right. */
  function pepperOf({ secretVersion }: KeyRecord): Buffer {
    return orLacking(log, () => secrets.keyFor('key-pair-pepper', secretVersion))
  }

  /** The same work for a key that does not exist as for one that does. */
  function isProvenTo(record: KeyRecord | undefined, secret: string): record is KeyRecord {
    const pepper = record ? pepperOf(record) : currentPepper
    const isSame = isSameDigest(secretDigestOf(secret, pepper), record?.secretDigest ?? nobodysDigest)
    return record !== undefined && isSame
  }

  /** `believed` is what the pair was proven to be, not long ago. */
  async function lookUp(publishable: string, secret: string, believed: KeyRecord | undefined): Promise<KeyRecord> {
    // Begun before anything that depends on the key: a wait for the rest of the time would still tell when it began.
    const refusal = sleep(REFUSED_AFTER_MS, undefined, { ref: false })
    const pair = secretDigestOf(publishable + secret, currentPepper).toString('base64')
    if (!wrong.has(pair)) {
      const record = await orUnavailable(load(publishable)).catch((error: unknown) => {
        if (believed) return believed
        throw error
      })
      if (isProvenTo(record, secret)) return record
      wrong.set(pair, true)
    }
    await refusal
    throw new ParleyError('keys_invalid')
  }

  return async ({ publishable, secret }) => {
    if (!publishable || !secret) throw new ParleyError('keys_missing')
    if (!isPublishableKey(publishable) || !isSecretKey(secret)) throw new ParleyError('keys_invalid')
    const cached = known.get(publishable)
    const believed = isProvenTo(cached?.record, secret) ? cached?.record : undefined
    const isFresh = cached !== undefined && performance.now() - cached.readAt < FRESH_MS
    const record = believed && isFresh ? believed : await lookUp(publishable, secret, believed)
    if (!record.isActive || (record.expiresAt && record.expiresAt.getTime() <= Date.now()))
      throw new ParleyError('key_inactive')
    if (!record.isAccountActivated) throw new ParleyError('account_not_activated')
    if (!record.isDomainVerified) throw new ParleyError('domain_not_verified')
    return record
  }
}

/** One look-up per key at a time, however many requests wait for it. */
function createLoad(db: Db, known: LRUCache<string, CachedRecord>, waitMs: number) {
  const loading = new Map<string, Promise<KeyRecord | undefined>>()
  const lookups = createLookups((publishableKeys: readonly string[]) => findKeyRecords(db, publishableKeys))
  return (publishable: string): Promise<KeyRecord | undefined> => {
    let pending = loading.get(publishable)
    if (!pending) {
      pending = lookups
        .submit(publishable, waitMs)
        .then((record) => {
          if (record) known.set(publishable, { record, readAt: performance.now() })
          else known.delete(publishable)
          return record
        })
        .finally(() => loading.delete(publishable))
      loading.set(publishable, pending)
    }
    return pending
  }
}
