import { endUserDigestOf, noteEndUsers, type SeenEndUser } from '../store/calls/end-users.ts'
import type { Db } from '../store/database.ts'
import type { Call } from './call.ts'
import type { LoadedDigestKeys } from './digest-keys.ts'

/**
 * The end users that publishers' apps call for. The id that a publisher sends for one is kept nowhere: an end user is a keyed
 * digest of it, a different one in each project.
 */
export interface EndUsers {
  /** Throws 503 before the key was read. */
  digestOf(projectId: string, endUser: string): string
  /** Only for a call that has credit: an end user whose calls are always refused is not worth a row. */
  noteSeen(call: Pick<Call, 'caller' | 'createdAt'>, id: string, label: string | undefined): void
  /** Writes down who was seen, now and then and out of the way of calls. */
  write(): Promise<void>
}

/** More than one gateway sees between two writes; those beyond it are noted with their next call. */
const NOTED_MAX = 50_000
const WRITTEN_AT_ONCE = 1_000

export function createEndUsers(db: Db, digestKeys: LoadedDigestKeys): EndUsers {
  const noted = new Map<string, SeenEndUser>()

  return {
    digestOf: (projectId, endUser) => endUserDigestOf(digestKeys.keyFor('end-users'), projectId, endUser),
    noteSeen({ caller: { projectId }, createdAt: at }, id, label = noted.get(id)?.label) {
      if (noted.has(id) || noted.size < NOTED_MAX) noted.set(id, { projectId, id, label, at })
    },
    async write() {
      const seen = [...noted.values()]
      noted.clear()
      for (let n = 0; n < seen.length; n += WRITTEN_AT_ONCE) await noteEndUsers(db, seen.slice(n, n + WRITTEN_AT_ONCE))
    },
  }
}
