import { endUserDigestOf, noteEndUsers, type SeenEndUser } from '../store/calls/end-users.ts'
import type { Db } from '../store/database.ts'
import type { Call } from './call.ts'
import type { LoadedDigestKeys } from './digest-keys.ts'

/**
 * Whom publishers' apps call for. What a publisher sends to tell them apart is kept nowhere: an end user is a keyed digest of
 * it, another one in each project.
 */
export interface EndUsers {
  /** The end user of a call, if it has one. Throws 503 before the key was read. */
  idOf(call: Pick<Call, 'caller' | 'endUser' | 'createdAt'>): string | undefined
  /** The same for what a header says: nothing is noted. */
  digestOf(projectId: string, endUser: string): string
  /** Writes down who was seen, now and then and out of the way of calls. */
  write(): Promise<void>
}

/** More than one gateway sees between two writes; those beyond it are noted with their next call. */
const NOTED_MAX = 50_000
const WRITTEN_AT_ONCE = 1_000

export function createEndUsers(db: Db, digestKeys: LoadedDigestKeys): EndUsers {
  const noted = new Map<string, SeenEndUser>()

  function noteSeen(seen: SeenEndUser): void {
    const label = seen.label ?? noted.get(seen.id)?.label
    if (noted.has(seen.id) || noted.size < NOTED_MAX) noted.set(seen.id, { ...seen, label })
  }

  function digestOf(projectId: string, endUser: string): string {
    return endUserDigestOf(digestKeys.keyFor('end-users'), projectId, endUser)
  }

  return {
    digestOf,
    idOf({ caller: { projectId }, endUser, createdAt }) {
      if (!endUser) return undefined
      const id = digestOf(projectId, endUser.id)
      noteSeen({ projectId, id, label: endUser.label, at: createdAt })
      return id
    },
    async write() {
      const seen = [...noted.values()]
      noted.clear()
      for (let n = 0; n < seen.length; n += WRITTEN_AT_ONCE) await noteEndUsers(db, seen.slice(n, n + WRITTEN_AT_ONCE))
    },
  }
}
