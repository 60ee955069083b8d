import { randomBytes } from 'node:crypto'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { Db } from '../../src/store/database.ts'
import { beginSession, type NewSession } from '../../src/store/projects/browser-sessions.ts'

const PLAIN = {
  secretVersion: 1,
  secretLast4: 'last',
  endUserId: undefined,
  models: undefined,
  maxTokens: undefined,
  origins: undefined,
  networkTag: undefined,
  calls: 50,
  money: 500_000_000n,
  seconds: 900,
}

/** A browser session with nothing special about it. */
export function sessionOf(
  of: Pick<NewSession, 'projectId' | 'keyPairId'>,
  change: Partial<NewSession> = {},
): NewSession {
  const { projectId, keyPairId } = of
  return { id: uuidv7(), projectId, keyPairId, secretDigest: randomBytes(32), ...PLAIN, ...change }
}

/** Returns its id. */
export async function addBrowserSession(
  db: Db,
  of: Pick<NewSession, 'projectId' | 'keyPairId'>,
  change: Partial<NewSession> = {},
): Promise<string> {
  const session = sessionOf(of, change)
  const begun = await beginSession(db, session, 1_000)
  if ('refusal' in begun) throw new Error(`no session: ${begun.refusal}`)
  return session.id
}
