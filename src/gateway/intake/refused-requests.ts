import type { Metrics } from '../../metrics.ts'
import { MINUTE_MS } from '../../rules/durations.ts'
import { REFUSED_ROWS_PER_MINUTE, type RefusedRequest } from '../../rules/refused-requests.ts'
import { addRefusedRequests } from '../../store/calls/refused-requests.ts'
import type { Db } from '../../store/database.ts'

/**
 * Requests of a known project that were refused before they reached a model, for whoever wonders why. Collected here and
 * written now and then, out of the way of requests: of each code and key pair some rows a minute, and beyond those a count.
 */
export interface RefusedRequests {
  note(refused: NewRefusal): void
  /** Rows that the store does not take are given up, and counted: they must not pile up while the store is away. */
  write(): Promise<void>
}

/** One request. */
export type NewRefusal = Omit<RefusedRequest, 'times' | 'lastAt'> & { at: Date }

interface Options {
  db: Db
  metrics: Pick<Metrics, 'refusedNoted' | 'refusedDropped'>
  statement?: typeof addRefusedRequests
}

/** In memory at any time. A project keeps its place for the minute that it is in, and one that comes too late is not noted. */
const PROJECTS_MAX = 5_000
const WAITING_MAX = 20_000
const WRITTEN_AT_ONCE = 500

interface Minute {
  number: number
  codes: Map<string, Code>
}

interface Code {
  rows: number
  /** By key pair, its browser sessions apart: the rows that it has in this minute. */
  pairs: Map<string, RefusedRequest[]>
}

export function createRefusedRequests({ db, metrics, statement = addRefusedRequests }: Options): RefusedRequests {
  const minutes = new Map<string, Minute>()
  /** Rows still to be written, by id. For a row that is there already: only what is to be added. */
  const waiting = new Map<string, RefusedRequest>()

  function codeOf({ projectId, code, at }: NewRefusal): Code | undefined {
    const number = Math.floor(at.getTime() / MINUTE_MS)
    let minute = minutes.get(projectId)
    if (!minute && minutes.size >= PROJECTS_MAX) return undefined
    if (minute?.number !== number) minutes.set(projectId, (minute = { number, codes: new Map() }))
    let found = minute.codes.get(code)
    if (!found) minute.codes.set(code, (found = { rows: 0, pairs: new Map() }))
    return found
  }

  /** The row that this one is counted with. Undefined: there is no room for it. */
  function rowFor(refused: NewRefusal): RefusedRequest | undefined {
    const code = codeOf(refused)
    if (!code) return undefined
    const pair = `${refused.keyPairId} ${refused.viaSession}`
    const rows = code.pairs.get(pair) ?? []
    // When others have used up the code's rows, a pair that has none still gets one.
    const most = code.rows < REFUSED_ROWS_PER_MINUTE.code ? REFUSED_ROWS_PER_MINUTE.pair : 1
    if (rows.length >= most) return rows.find((row) => isAlike(row, refused)) ?? rows.at(-1)
    const { at, ...row } = refused
    const added = { ...row, times: 0, lastAt: at }
    code.pairs.set(pair, rows)
    rows.push(added)
    code.rows += 1
    return added
  }

  return {
    note(refused) {
      const row = rowFor(refused)
      const added = row && (waiting.get(row.id) ?? (waiting.size < WAITING_MAX ? { ...row, times: 0 } : undefined))
      if (!added) return metrics.refusedDropped.inc({ why: 'full' })
      waiting.set(added.id, added)
      added.times += 1
      if (refused.at > added.lastAt) added.lastAt = refused.at
    },
    async write() {
      const now = Math.floor(Date.now() / MINUTE_MS)
      for (const [projectId, { number }] of minutes) if (number < now) minutes.delete(projectId)
      const rows = [...waiting.values()]
      waiting.clear()
      for (let n = 0; n < rows.length; n += WRITTEN_AT_ONCE) {
        const some = rows.slice(n, n + WRITTEN_AT_ONCE)
        try {
          await statement(db, some)
          metrics.refusedNoted.inc(timesIn(some))
        } catch (error) {
          // Also those behind it: each would wait as long for a store that is away.
          metrics.refusedDropped.inc({ why: 'store' }, timesIn(rows.slice(n)))
          throw error
        }
      }
    },
  }
}

function isAlike(a: RefusedRequest, b: NewRefusal): boolean {
  return a.param === b.param && a.endpoint === b.endpoint && a.model === b.model && a.message === b.message
}

function timesIn(rows: readonly RefusedRequest[]): number {
  return rows.reduce((sum, { times }) => sum + times, 0)
}
