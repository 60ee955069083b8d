import type { Log } from '../../platform/log.ts'
import type { Secrets } from '../../platform/secrets.ts'
import { ParleyError } from '../../rules/errors.ts'
import { isOriginAllowed, sentenceOfOrigin } from '../../rules/projects/origins.ts'
import { isPublishableKey, isSessionSecret, secretDigestOf } from '../../rules/projects/keys.ts'
import type { Db } from '../../store/database.ts'
import { findLackedVersions, findSessionRecords, type SessionRecord } from '../../store/projects/browser-sessions.ts'
import { createProof, expectUsable, type Caller, type Keys } from '../authenticate.ts'
import { orLacking } from '../missing-secret.ts'

interface AuthenticateSessionOptions {
  db: Db
  secrets: Secrets
  log: Log
  waitMs?: number | undefined
}

/** Nothing was found, and what was asked for may be there: it was made under a secret that this gateway was not given. */
interface Lacked {
  lackedVersion: number
}

/**
 * The secret of a browser session beside the publishable key of its pair, from a page that may use it. Unknown ones, and those of
 * another pair, are refused as wrong keys are: in one way, and late. Whether a session may call is also said in
 * functions/ledger_hold.sql and src/store/calls/idempotency.ts: the three must say the same.
 */
export function createAuthenticateSession(options: AuthenticateSessionOptions): (keys: Keys) => Promise<Caller> {
  const { db, secrets, log, waitMs } = options
  /** Under which secret a session was made is known only when it is found; there are one or two. */
  const digestsOf = (secret: string) =>
    secrets.versions.map((version) => secretDigestOf(secret, secrets.keyFor('key-pair-pepper', version)))
  const prove = createProof<SessionRecord | Lacked>({
    find: (names) => findByNames(db, names, secrets.versions),
    isProven(record, { publishable }) {
      if (record && 'lackedVersion' in record)
        orLacking(log, () => secrets.keyFor('key-pair-pepper', record.lackedVersion)) // 503
      return record !== undefined && 'publishableKey' in record && record.publishableKey === publishable
    },
    pepper: secrets.keyFor('key-pair-pepper'),
    waitMs,
  })

  return async ({ publishable, secret, origin }) => {
    if (!publishable || !secret) throw new ParleyError('keys_missing')
    if (!isPublishableKey(publishable) || !isSessionSecret(secret)) throw new ParleyError('keys_invalid')
    const record = await prove(nameOf(publishable, digestsOf(secret)), { publishable, secret })
    if ('lackedVersion' in record) throw new ParleyError('keys_invalid')
    const { session, projectId, keyPairId } = record
    const keyOwner = { projectId, keyPairId, viaSession: true }
    expectUsable(record, keyOwner)
    if (session.expiresAt.getTime() <= Date.now()) throw new ParleyError('session_over', { keyOwner })
    const allowed = { domain: record.domain, origins: session.origins }
    if (!isOriginAllowed(origin, allowed))
      throw new ParleyError('origin_not_allowed', { message: sentenceOfOrigin(origin, allowed), keyOwner })
    const { id, endUserId, maxTokens, networkTag } = session
    return {
      ...record,
      allowedModels: both(record.allowedModels, session.models),
      session: { id, endUserId, maxTokens, networkTag },
    }
  }
}

/** The name that a session is remembered by: its pair and its digests, never its secret. */
function nameOf(publishable: string, digests: readonly Buffer[]): string {
  return [publishable, ...digests.map((digest) => digest.toString('base64'))].join(' ')
}

async function findByNames(
  db: Db,
  names: readonly string[],
  versions: readonly number[],
): Promise<(SessionRecord | Lacked | undefined)[]> {
  const asked = names.map((name) => {
    const [publishable = '', ...digests] = name.split(' ')
    return { publishable, digests }
  })
  const digests = asked.flatMap((name) => name.digests)
  const found = await findSessionRecords(
    db,
    digests.map((digest) => Buffer.from(digest, 'base64')),
  )
  const records = new Map(found.map((record) => [record.session.digest.toString('base64'), record]))
  const known = asked.map((name) => name.digests.map((digest) => records.get(digest)).find(Boolean))
  const unknown = asked.flatMap(({ publishable }, n) => (known[n] ? [] : [publishable]))
  if (unknown.length === 0) return known
  const lacked = await findLackedVersions(db, unknown, versions)
  return asked.map(({ publishable }, n) => {
    const lackedVersion = lacked.get(publishable)
    return known[n] ?? (lackedVersion === undefined ? undefined : { lackedVersion })
  })
}

/** Null stands for all models. A project that has taken one away since takes it from its sessions, too. */
function both(project: readonly string[] | null, session: readonly string[] | null): readonly string[] | null {
  if (project === null || session === null) return project ?? session
  return session.filter((model) => project.includes(model))
}
