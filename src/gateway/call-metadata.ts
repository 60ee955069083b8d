import { createLane } from '../platform/batch.ts'
import { errorFields, type Log } from '../platform/log.ts'
import type { Metrics } from '../metrics.ts'
import { metadataOf } from '../rules/calls/metadata.ts'
import { insertMetadata, type CallMetadata as Stored } from '../store/calls/metadata.ts'
import { isUnavailable, type Db } from '../store/database.ts'
import type { Call } from './call.ts'
import type { EndUsers } from './end-users.ts'

/** What publishers send along with a call, for themselves: it is kept with the call and sent to nobody. */
export interface CallMetadata {
  /** Of a call that has its charge, after the answer and out of its way. */
  record(call: Pick<Call, 'id' | 'requestId' | 'caller' | 'body' | 'conversationId' | 'endUser'>): void
  /** Resolves when everything recorded is stored or given up. */
  idle(): Promise<void>
}

/** As long as the store may be away before what waits for it is given up. */
const GIVEN_UP_AFTER_MS = 10_000

export interface CallMetadataOptions {
  db: Db
  endUsers: Pick<EndUsers, 'digestOf'>
  log: Log
  metrics: Pick<Metrics, 'metadataDropped'>
}

export function createCallMetadata({ db, endUsers, log, metrics }: CallMetadataOptions): CallMetadata {
  const lane = createLane<Stored, undefined>({
    run: (calls) => insertMetadata(db, calls).then(() => calls.map(() => undefined)),
    batchMax: 100,
    queueMax: 1_000,
    isTransient: isUnavailable,
    retryEveryMs: 100,
  })

  return {
    record({ id: callId, requestId, caller, body, conversationId, endUser }) {
      const { projectId, contentRetentionDays: retentionDays } = caller
      const pairs = retentionDays > 0 ? metadataOf(body) : []
      if (pairs.length === 0) return
      const endUserId = endUser && endUsers.digestOf(projectId, endUser.id)
      const stored = { projectId, callId, conversationId, endUserId, pairs, retentionDays }
      lane.submit(stored, GIVEN_UP_AFTER_MS).catch((error: unknown) => {
        metrics.metadataDropped.inc()
        log.warn({ requestId, ...errorFields(error) }, 'metadata not recorded')
      })
    },
    idle: () => lane.idle(),
  }
}
