import type { Tx } from '../../store/database.ts'
import * as store from '../../store/projects/browser-session-pages.ts'
import { lockKeyPair } from '../../store/projects/key-pairs.ts'
import type { Actor } from '../actor.ts'
import { auditProject, type ProjectAtHand } from '../audit.ts'
import { notThere } from '../refusals.ts'

/** Its next call is refused. Calls that run are answered to their end. */
export async function endBrowserSession(
  tx: Tx,
  actor: Actor,
  { project, sessionId }: { project: ProjectAtHand; sessionId: string },
): Promise<void> {
  const session = await store.findBrowserSession(tx, { projectId: project.id, id: sessionId })
  const ended = session && (await store.endBrowserSessions(tx, project.id, { id: sessionId }))
  if (!session || ended === 0) throw notThere('session')
  const details = { session: sessionId, last4: session.secret_last4, key: session.publishable_key }
  await auditProject(tx, actor, project, 'session.ended', { subject: session.name, details })
}

/** Returns how many there were. The pair itself works on, and makes new ones when it is asked to. */
export async function endBrowserSessionsOf(
  tx: Tx,
  actor: Actor,
  { project, keyId }: { project: ProjectAtHand; keyId: string },
): Promise<number> {
  // Locked: no session begins meanwhile that would be left.
  const pair = await lockKeyPair(tx, project.id, keyId)
  if (!pair) throw notThere('key')
  const ended = await store.endBrowserSessions(tx, project.id, { keyPairId: keyId })
  if (ended > 0) {
    const details = { key: pair.publishable_key, sessions: ended }
    await auditProject(tx, actor, project, 'sessions.ended', { subject: pair.name, details })
  }
  return ended
}
