import { sql } from 'kysely'
import { firstDigestKeys, sealDigestKeys, unsealDigestKeys, type DigestKeys } from '../platform/digest-keys.ts'
import type { Secrets } from '../platform/secrets.ts'
import { inTransaction, type Db } from './database.ts'

/** This process has another PARLEY_SECRET than the installation. Its message says what to do. */
export class WrongSecret extends Error {
  override readonly name = 'WrongSecret'
}

export interface SecretVersion {
  version: number
  check_value: Buffer
  digest_keys: string
}

/** Any number that no other lock of Parley has. */
const LOCK = 7_253_942

export async function listSecretVersions(db: Db): Promise<SecretVersion[]> {
  return db.selectFrom('secret_versions').select(['version', 'check_value', 'digest_keys']).orderBy('version').execute()
}

/**
 * Compares the secrets of this process with those that others have started with, and records the ones that are new. Throws
 * WrongSecret. Returns the keys of digests, which are the same for everybody.
 */
export async function recordSecrets(db: Db, secrets: Secrets): Promise<DigestKeys> {
  const known = await listSecretVersions(db)
  expectRight(known, secrets)
  if (newIn(secrets, known).length === 0) return digestKeysIn(known, secrets)
  return inTransaction(db, async (tx) => {
    // Two that record the first secrets at once would otherwise each make digest keys of their own.
    await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx)
    const recorded = await listSecretVersions(tx)
    expectRight(recorded, secrets)
    const keys = recorded.length === 0 ? firstDigestKeys(secrets) : digestKeysIn(recorded, secrets)
    const rows = newIn(secrets, recorded).map((version) => ({
      version,
      check_value: secrets.checkValueOf(version),
      digest_keys: sealDigestKeys(secrets, keys, version),
    }))
    if (rows.length > 0) await tx.insertInto('secret_versions').values(rows).execute()
    return keys
  })
}

/** The keys of digests, for who has compared and recorded its secrets before. */
export async function findDigestKeys(db: Db, secrets: Secrets): Promise<DigestKeys> {
  return digestKeysIn(await listSecretVersions(db), secrets)
}

/** Says what is wrong with the secrets of this process, and what to do about it. Undefined: nothing is. */
export function complaintAbout(secrets: Secrets, known: readonly SecretVersion[]): string | undefined {
  const own = known.filter(({ version }) => secrets.versions.includes(version))
  const wrong = own.filter(({ version, check_value }) => !secrets.checkValueOf(version).equals(check_value))
  if (wrong.length > 0) {
    const number = wrong.map(({ version }) => version).join(', ')
    return `Secret ${number} in PARLEY_SECRET is not the secret ${number} that this installation works with. Give this process the same as the others; a new secret needs a number of its own. ${IF_LOST}`
  }
  if (own.length > 0 || known.length === 0) return undefined
  const numbers = known.map(({ version }) => version).join(', ')
  return `PARLEY_SECRET lists only secret ${secrets.versions.join(', ')}, and this installation works with ${numbers}. List one of those, too. ${IF_LOST}`
}

const IF_LOST = 'If it is lost, see "When the secret is lost" in docs/operations.md.'

function expectRight(known: readonly SecretVersion[], secrets: Secrets): void {
  const complaint = complaintAbout(secrets, known)
  if (complaint !== undefined) throw new WrongSecret(complaint)
}

function newIn(secrets: Secrets, known: readonly SecretVersion[]): number[] {
  return secrets.versions.filter((version) => known.every((other) => other.version !== version))
}

function digestKeysIn(known: readonly SecretVersion[], secrets: Secrets): DigestKeys {
  const row = known.find(({ version }) => secrets.versions.includes(version))
  if (!row) throw new Error('no secret of this process is recorded')
  return unsealDigestKeys(secrets, row.digest_keys)
}

/** Returns false when there is none of that number. */
export async function deleteSecretVersion(db: Db, version: number): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('secret_versions').where('version', '=', version).executeTakeFirst()
  return numDeletedRows > 0n
}
