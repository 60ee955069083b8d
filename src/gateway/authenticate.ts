import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Log } from '../platform/log.ts'
import type { Secrets } from '../platform/secrets.ts'
import { MINUTE_MS } from '../rules/durations.ts'
import { ParleyError, type KeyOwner } from '../rules/errors.ts'
import { isPublishableKey, isSameDigest, isSecretKey, secretDigestOf } from '../rules/projects/keys.ts'
import { STORE_WAIT_MS } from '../rules/limits.ts'
import { orUnavailable, type Db } from '../store/database.ts'
import { createLookups } from '../store/lookups.ts'
import { findKeyRecords, type KeyRecord } from '../store/projects/keys.ts'
import { orLacking } from './missing-secret.ts'

/** The caller: a proven key pair of an activated publisher's project with a verified domain. */
export type Caller = Pick<
  KeyRecord,
  | 'keyPairId'
  | 'publishableKey'
  | 'countedAs'
  | 'projectId'
  | 'publisherId'
  | 'allowedModels'
  | 'contentRetentionDays'
  | 'isSandbox'
  | 'isPlayground'
  | 'monetization'
  | 'stoppedOffers'
  | 'isWalletEmpty'
  | 'domain'
> & {
  /** Called with the secret of a browser session, which may do less than its pair. */
  session?: CallerSession | undefined
}

export interface CallerSession {
  id: string
  /** The end user that its calls are for, whatever the calls say. Null: none. */
  endUserId: string | null
  maxTokens: number | null
  /** A tag of the network that asked for the session, under the salt of that day. Null: not known. */
  networkTag: Buffer | null
}

export function ownerOf({
  projectId,
  keyPairId,
  session,
}: Pick<Caller, 'projectId' | 'keyPairId' | 'session'>): KeyOwner {
  return { projectId, keyPairId, viaSession: session !== undefined }
}

export interface Keys {
  publishable: string | undefined
  secret: string | undefined
  /** The page that calls, as its browser says. */
  origin?: string | undefined
}

type BothKeys = { publishable: string; secret: string }

/** How old a cached answer may be. The hold of a call checks the truth again, so this bounds only what holds no credit. */
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

/**
 * Answers 401 in one way for unknown, mismatched and malformed keys, so that nobody learns which half was wrong or
 * whether a publishable key exists. Only who proves the whole pair is told that it is inactive.
 *
 * Whether a pair may call is also said in functions/ledger_hold.sql and src/store/calls/idempotency.ts: the three must say
 * the same.
 */
export function createAuthenticate(options: AuthenticateOptions): (keys: Keys) => Promise<Caller> {
  const { db, secrets, log, waitMs } = options
  const currentPepper = secrets.keyFor('key-pair-pepper')
  const nobodysDigest = Buffer.alloc(32)

  /**
   * Returns the pepper of the secret that the pair was made under. Without that secret nobody can tell whether the pair is
   * right.
   */
  function pepperOf({ secretVersion }: KeyRecord): Buffer {
    return orLacking(log, () => secrets.keyFor('key-pair-pepper', secretVersion))
  }

  const prove = createProof<KeyRecord>({
    find: (publishableKeys) => findKeyRecords(db, publishableKeys),
    // The same work for a key that does not exist as for one that does.
    isProven(record, { secret }) {
      const pepper = record ? pepperOf(record) : currentPepper
      const isSame = isSameDigest(secretDigestOf(secret, pepper), record?.secretDigest ?? nobodysDigest)
      return record !== undefined && isSame
    },
    ownerOf,
    pepper: currentPepper,
    waitMs,
  })

  return async ({ publishable, secret }) => {
    if (!publishable || !secret) throw new ParleyError('keys_missing')
    if (!isPublishableKey(publishable) || !isSecretKey(secret)) throw new ParleyError('keys_invalid')
    const record = await prove(publishable, { publishable, secret })
    expectUsable(record)
    return record
  }
}

/** Throws if the pair may not call. Only for a caller that has proven the pair, or a session of it. */
export function expectUsable(record: KeyRecord, keyOwner = ownerOf(record)): void {
  if (!record.isActive || (record.expiresAt && record.expiresAt.getTime() <= Date.now()))
    throw new ParleyError('key_inactive', { keyOwner })
  if (!record.isAccountActivated) throw new ParleyError('account_not_activated', { keyOwner })
  if (!record.isDomainVerified) throw new ParleyError('domain_not_verified', { keyOwner })
}

interface ProofOptions<Found> {
  /** In the order asked; undefined where there is none. */
  find(names: readonly string[]): Promise<(Found | undefined)[]>
  isProven(found: Found | undefined, keys: BothKeys): boolean
  /** The owner to notify of wrong keys that were sent with a name that exists. */
  ownerOf?(found: Found): KeyOwner
  /** For the digests by which wrong keys are remembered. */
  pepper: Buffer
  waitMs: number | undefined
}

interface CachedRecord<Found> {
  record: Found
  readAt: number
}

/**
 * Looks somebody up by `name`, and refuses whoever has not the right keys. What is known of a name answers only those who have
 * its secret. For everybody else a name that exists goes the way of one that does not: the same look-up, the same work, the same
 * wait, and 503 while the store is away.
 */
export function createProof<Found extends {}>(options: ProofOptions<Found>) {
  const { find, isProven, ownerOf: ownerOfFound, pepper, waitMs = STORE_WAIT_MS } = options
  const known = new LRUCache<string, CachedRecord<Found>>({ max: CACHED_MAX, ttl: STALE_MS })
  /** Whole pairs that are wrong, with the refusal. Not publishable keys: a stranger's wrong secret must not keep the owner out. */
  const wrong = new LRUCache<string, { keyOwner?: KeyOwner }>({ max: CACHED_MAX, ttl: FRESH_MS })
  const load = createLoad(find, known, waitMs)

  /** `believed` is what the keys were proven to be, not long ago. */
  async function lookUp(name: string, keys: BothKeys, believed: Found | undefined): Promise<Found> {
    // Begun before anything that depends on the key: a wait for the rest of the time would still tell when it began.
    const refusal = sleep(REFUSED_AFTER_MS, undefined, { ref: false })
    const pair = secretDigestOf(keys.publishable + keys.secret, pepper).toString('base64')
    let refused = wrong.get(pair)
    if (refused === undefined) {
      const record = await orUnavailable(load(name)).catch((error: unknown) => {
        if (believed) return believed
        throw error
      })
      if (isProven(record, keys) && record) return record
      refused = record && ownerOfFound ? { keyOwner: ownerOfFound(record) } : {}
      wrong.set(pair, refused)
    }
    await refusal
    throw new ParleyError('keys_invalid', refused)
  }

  return async (name: string, keys: BothKeys): Promise<Found> => {
    const cached = known.get(name)
    const believed = isProven(cached?.record, keys) ? cached?.record : undefined
    const isFresh = cached !== undefined && performance.now() - cached.readAt < FRESH_MS
    return believed && isFresh ? believed : await lookUp(name, keys, believed)
  }
}

/** One look-up per name at a time, however many requests wait for it. */
function createLoad<Found>(
  find: ProofOptions<Found>['find'],
  known: LRUCache<string, CachedRecord<Found>>,
  waitMs: number,
) {
  const loading = new Map<string, Promise<Found | undefined>>()
  const lookups = createLookups(find)
  return (name: string): Promise<Found | undefined> => {
    let pending = loading.get(name)
    if (!pending) {
      pending = lookups
        .submit(name, waitMs)
        .then((record) => {
          if (record) known.set(name, { record, readAt: performance.now() })
          else known.delete(name)
          return record
        })
        .finally(() => loading.delete(name))
      loading.set(name, pending)
    }
    return pending
  }
}
