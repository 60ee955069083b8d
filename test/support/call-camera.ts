/**
 * Pictures of calls: what was answered, every row and every metric that changed, what was logged of it, and what the
 * provider was sent. Two runs of the same call give the same picture, whatever ran before and whatever time it is.
 */
import { sql } from 'kysely'
import { changesBetween, createPlainer, openCamera, type Picture, type PlainerOptions, type Row } from './picture.ts'
import { until, type TestProject, type World } from './world.ts'
import { HOUR_MS } from '../../src/rules/durations.ts'

export interface CallCamera {
  /** Ends when everything is written that follows from the work. */
  pictureOf(project: TestProject, work: () => Promise<unknown>, options?: PictureOptions): Promise<CallPicture>
}

export interface CallPicture {
  answer: unknown
  changes: unknown[]
  moved: string[]
  /** Requests that the simulated provider was sent. */
  sent: unknown[]
  logged: string[]
}

export interface PictureOptions extends Partial<PlainerOptions> {
  /** Requests that the work makes. */
  requests?: number
  /** Messages that are kept of the project's conversations when all is written. */
  messages?: number
  /** Whether everything else that is written after the answer has been written. */
  settled?: () => boolean | Promise<boolean>
}

const LOADED_MS = Date.now()
/** Long after everything is written, also on a machine that does ten other things. Who has waited in vain waits less. */
const WRITTEN_WITHIN_MS = { first: 20_000, later: 1_000 }

export async function openCallCamera(
  world: Pick<World, 'store' | 'secrets' | 'simulator' | 'opsUrl' | 'logs'>,
): Promise<CallCamera> {
  const { store, secrets, simulator, opsUrl, logs } = world
  // End users, ignored fields, metadata and refused requests are written at times of their own, and the digests of words differ
  // from project to project.
  const takePicture = await openCamera(store.db, secrets, [
    'end_users',
    'ignored_fields',
    'call_metadata',
    'message_words',
    'refused_requests',
  ])
  const count = () => countersOf(opsUrl)
  let patienceMs = WRITTEN_WITHIN_MS.first

  return {
    async pictureOf(project, work, { requests = 1, messages = 0, settled = () => true, ...plainer } = {}) {
      const startedMs = Date.now()
      await forgetCounts(world, project)
      const known = { project: project.id, publisher: project.publisherId, ...plainer.known }
      const hidden = [[project.publishableKey, 'key'] as const, ...(plainer.hidden ?? [])]
      const plain = createPlainer({ known, hidden, spans: 'none', sinceMs: LOADED_MS })
      const [before, counted, sent, logged] = [await takePicture(), await count(), simulator.calls.length, logs.length]
      const answer = await work()
      let recommended: number | undefined
      const isOver = async () => {
        // Metrics take longer to read than rows, and are final once the requests are counted.
        if (recommended === undefined) {
          const now = await count()
          const since = (name: string) => sumOf(now, name) - sumOf(counted, name)
          if (since('parley_requests_total') < requests || since('parley_calls_running') > 0) return false
          recommended = since('parley_recommendations_total')
        }
        if (simulator.calls.slice(sent).some(({ ended }) => ended === 'running')) return false
        return (await isWritten(world, project, before, { recommended, messages })) && settled()
      }
      // A row that never arrives is missing in the picture, which tells more than a timeout.
      await until(isOver, patienceMs).catch(() => (patienceMs = WRITTEN_WITHIN_MS.later))
      const changes = changesBetween(before, await takePicture()).map((change) => withoutTime(change, startedMs))
      const picture = {
        answer,
        changes,
        moved: movedBetween(counted, await count()),
        sent: simulator.calls.slice(sent).map(sentOf),
        logged: logs.slice(logged).map((line) => JSON.parse(line) as Row),
      }
      const { logged: lines, ...rest } = plain(picture) as typeof picture
      // Each on one line, as it is in the log.
      return { ...rest, logged: lines.filter(isOfCall).map((line) => JSON.stringify({ ...line, time: undefined })) }
    },
  }
}

type Stored = Pick<World, 'store'>

/** Resets the counts by the minute and by the hour, as if the calls before had been long ago. */
async function forgetCounts({ store }: Stored, { id }: TestProject): Promise<void> {
  await sql`update wallets set minute_started_at = '-infinity', minute_requests = 0, minute_tokens = 0
    where project_id = ${id}`.execute(store.db)
  await sql`delete from recommendation_outcomes where project_id = ${id}`.execute(store.db)
}

/** Whether gateways have written everything after an answer: the charge, the conversation, and a recommendation's outcome. */
async function isWritten(
  { store }: Stored,
  { id }: TestProject,
  before: Picture,
  { recommended, messages }: { recommended: number; messages: number },
): Promise<boolean> {
  const rowsOf = (name: string) =>
    [...before.values()].flatMap(({ table, row }) => (table === name && row.project_id === id ? [row] : []))
  const records = rowsOf('recommendations').filter(({ state }) => state !== 'aborted').length
  const served = rowsOf('conversation_restraints')
    .filter(({ expires_at: until }) => Date.parse(String(until)) > Date.now())
    .reduce((sum, row) => sum + Number(row.served), 0)
  const { rows } = await sql<{ isWritten: boolean }>`
    with counted as (
      select coalesce(sum(calls), 0) as calls, coalesce(sum(calls) filter (where outcome in ('served', 'test')), 0) as shown,
        coalesce(bool_or(outcome in ('sensitive', 'answer_sensitive', 'excluded_topic')), false) as is_sensitive
      from recommendation_outcomes where project_id = ${id})
    select (select open_holds from wallets where project_id = ${id}) = 0 and c.calls >= ${recommended}
      and (select count(*) from messages where project_id = ${id}) >= ${messages}
      and (select count(*) from recommendations where project_id = ${id} and state <> 'aborted') >= ${records} + c.shown
      and not exists (select from conversation_restraints where project_id = ${id}
        and (served < ${served} + c.shown or c.is_sensitive and not is_sensitive)) as "isWritten"
    from counted c`.execute(store.db)
  return rows[0]?.isWritten ?? false
}

type Counters = ReadonlyMap<string, number>

async function countersOf(opsUrl: string): Promise<Counters> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text()
  const lines = text
    .split('\n')
    .filter((line) => /^parley_(?!nodejs|process|ledger|job|refused_noted)/.test(line) && !/_(sum|bucket)\b/.test(line))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}

function sumOf(counters: Counters, name: string): number {
  return [...counters].reduce((sum, [key, value]) => (key.split('{', 1)[0] === name ? sum + value : sum), 0)
}

function movedBetween(before: Counters, after: Counters): string[] {
  return [...after]
    .filter(([name, value]) => value !== (before.get(name) ?? 0))
    .map(([name, value]) => `${name} ${value - (before.get(name) ?? 0)}`)
    .toSorted()
}

/** As it is when the work does not see the end of a minute or of an hour, and when nobody else has a conversation. */
function withoutTime(change: unknown, startedMs: number): unknown {
  const changed = change as Record<string, Row>
  const what = Object.keys(changed)[0] ?? ''
  const row = changed[what] ?? {}
  if (what === '+ messages') return { [what]: { ...row, seq: 'next' } }
  if (what === '+ recommendation_outcomes') {
    const hours = [startedMs, Date.now()].map((ms) => Math.floor(ms / HOUR_MS) * HOUR_MS)
    return { [what]: { ...row, hour: hours.includes(Date.parse(String(row.hour))) ? 'this hour' : 'another hour' } }
  }
  const [, minute] = (row.minute_started_at ?? []) as unknown[]
  const isSameMinute = Date.parse(String(minute)) <= startedMs
  if (what !== '= wallets' || minute === undefined || isSameMinute) return change
  // A new minute has begun, so the requests of the minute before are not counted.
  const { minute_requests: _, minute_started_at, ...rest } = row
  return { [what]: { ...rest, minute_requests: [0, 1], minute_started_at } }
}

/** Its address is another one in each run. */
const CHANCE_HEADERS = new Set(['host', 'content-length', 'connection', 'user-agent'])

function sentOf({ authorization, headers, model, body, ended }: World['simulator']['calls'][number]) {
  const shown = Object.entries(headers)
    .filter(([name]) => !CHANCE_HEADERS.has(name))
    // The day that names a version is no day of this run.
    .map(([name, value]) => [name, /^\d{4}-\d\d-\d\d$/.test(value) ? `v${value}` : value])
  return { authorization, headers: Object.fromEntries(shown), model, body, ended }
}

/** Lines about requests and providers are of a call; lines that jobs log are not. */
function isOfCall({ requestId, provider }: Row): boolean {
  return requestId !== undefined || provider !== undefined
}

const CHANCE_ANSWER_HEADERS = new Set(['date', 'content-length', 'keep-alive', 'transfer-encoding', 'etag'])

/** Returns the parts of an answer that the caller sees. */
export async function visible(response: Response): Promise<unknown> {
  const headers = [...response.headers].filter(([name]) => !CHANCE_ANSWER_HEADERS.has(name))
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== ''
  const body: unknown = isJson ? JSON.parse(text) : text.split('\n\n')
  return { status: response.status, headers: Object.fromEntries(headers), body }
}
