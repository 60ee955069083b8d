import { hkdfSync } from 'node:crypto'
import type { Secrets } from '../../platform/secrets.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEY_PAIR_RANDOM_BYTES, keyPairFrom, type KeyPair } from '../../rules/projects/keys.ts'
import type { Tx } from '../../store/database.ts'
import { lockPlaygroundKey, upsertPlaygroundKey } from '../../store/projects/playground-keys.ts'
import { storedPairOf } from './key-pairs.ts'
import { expectProject } from './lock.ts'

const KEY_NAME = 'Playground'
const KEY_LIFE_MS = HOUR_MS
/** A pair with less time than this is made anew, so that no clock that is a little off meets its end. */
const KEY_LEFT_MS = 600_000

/**
 * The pair that a project's playground calls with, made or renewed when needed. The keys are derived from the
 * installation's secret and the row's id and end, so every console finds the same without any of them storing more than a
 * digest. It opens nothing that its user could not do anyway and never leaves the servers, so the log does not name it.
 */
export async function playgroundPairOf(
  tx: Tx,
  { projectId, secrets, cell, nowMs }: { projectId: string; secrets: Secrets; cell: string; nowMs: number },
): Promise<KeyPair> {
  await expectProject(tx, projectId)
  const row = await lockPlaygroundKey(tx, projectId)
  // A pair under any secret at hand will do: two consoles with different first secrets would replace each other's at every call.
  const isOurs = row && secrets.versions.includes(row.secret_version)
  if (isOurs && row.expires_at && row.expires_at.getTime() > nowMs + KEY_LEFT_MS) {
    const pair = derivedPair(secrets, cell, row.id, row.expires_at, row.secret_version)
    // Made under another secret of the same number, or for another cell.
    if (pair.publishable === row.publishable_key) return pair
  }
  const id = row?.id ?? uuidv7()
  const expiresAt = new Date(nowMs + KEY_LIFE_MS)
  const pair = derivedPair(secrets, cell, id, expiresAt, secrets.version)
  await upsertPlaygroundKey(tx, storedPairOf(pair, secrets, { id, projectId, name: KEY_NAME, expiresAt }))
  return pair
}

function derivedPair(secrets: Secrets, cell: string, id: string, expiresAt: Date, version: number): KeyPair {
  const info = `${id}/${expiresAt.getTime()}`
  const bytes = hkdfSync('sha512', secrets.keyFor('playground', version), '', info, KEY_PAIR_RANDOM_BYTES)
  return keyPairFrom(new Uint8Array(bytes), cell)
}
