/**
 * Everything that a request changed: all rows of all tables before and after, with what differs from run to run (ids,
 * moments, random bytes) replaced by what it stands for. A test that compares such a picture notices the column that
 * nobody thought of.
 */
import { snapshot } from 'node:test'
import { sql } from 'kysely'
import type { Secrets } from '../../src/platform/secrets.ts'
import type { Db } from '../../src/store/database.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/rules/durations.ts'

export type Row = Record<string, unknown>

interface Taken {
  table: string
  /** Read only where it is asked for: of thousands of rows, a request changes a handful. */
  readonly row: Row
  text: string
}

/** By table and primary key. */
export type Picture = Map<string, Taken>

/** Background work and secrets of the installation, which requests do not change. */
const LEFT_OUT = [
  'applied_functions',
  'gateways',
  'matchers',
  'migrations',
  'tenant_key',
  'catalogue_version',
  'click_salts',
  'usage_progress',
]

interface Table {
  name: string
  keys: string[]
}

/** The rows written to a table, how many rows it has, and the first transaction that may not have ended yet. */
interface Written {
  table: string
  texts: Record<string, string> | null
  total: number
  unfinished: string
}

/**
 * Takes pictures of the whole database, except for what is left out. Mails are opened: what somebody will read is part of what
 * happened. Most rows are as they were in the picture before, so only those that were written since then are read.
 */
export async function openCamera(
  db: Db,
  secrets: Secrets,
  leftOut: readonly string[] = [],
): Promise<() => Promise<Picture>> {
  const { rows: tables } = await sql<Table>`
    select c.relname as name, array(
      select a.attname::text from pg_index i, unnest(i.indkey) with ordinality as k (number, place)
      join pg_attribute a on a.attnum = k.number where a.attrelid = i.indrelid and i.indrelid = c.oid and i.indisprimary
      order by k.place) as keys
    from pg_class c where c.relkind in ('r', 'p') and not c.relispartition
      and c.relnamespace = 'public'::regnamespace and c.relname <> all (${[...LEFT_OUT, ...leftOut]}::text[])
    order by c.relname`.execute(db)
  const pictures = new Map(tables.map(({ name }): [string, Picture] => [name, new Map()]))
  const add = ({ table, texts }: Written, picture: Picture): Picture => {
    for (const [key, text] of Object.entries(texts ?? {})) {
      // To the end, as the database puts it.
      picture.delete(key)
      picture.set(key, takenOf(table, text, secrets))
    }
    return picture
  }
  let since: string | undefined
  return async () => {
    const written = await readWritten(db, tables, since)
    const lacking = new Set<string>()
    for (const each of written) {
      if (add(each, pictures.get(each.table) ?? new Map()).size !== each.total) lacking.add(each.table)
    }
    // A row that was deleted leaves nothing to read, so its table is read again.
    const whole = tables.filter(({ name }) => lacking.has(name))
    for (const each of await readWritten(db, whole)) pictures.set(each.table, add(each, new Map()))
    since = written[0]?.unfinished
    return new Map([...pictures.values()].flatMap((picture) => [...picture]))
  }
}

/** Since that transaction, or ever. */
async function readWritten(db: Db, tables: readonly Table[], since?: string): Promise<Written[]> {
  if (tables.length === 0) return []
  const isRead = since === undefined ? sql`true` : sql`age(t.xmin) <= age(${since}::text::xid)`
  const parts = tables.map(({ name, keys }) => {
    const key = sql.join([sql`${name}::text`, ...keys.map((column) => sql.ref(`t.${column}`))])
    // Rows are read as they lie in the table, which an update may change. Most differ by more than that; throttles do not.
    const inOrder = name === 'throttles' ? sql`order by t.attempts` : sql``
    // `last_used_at` is written down every now and then, whatever is asked for.
    return sql`select ${name}::text as table, count(*)::int as total,
      pg_snapshot_xmin(pg_current_snapshot())::xid::text as unfinished,
      json_object_agg(concat_ws(' ', ${key}), (to_jsonb(t) - 'last_used_at')::text ${inOrder}) filter (where ${isRead}) as texts
      from ${sql.table(name)} t`
  })
  return (await sql<Written>`${sql.join(parts, sql` union all `)}`.execute(db)).rows
}

function takenOf(table: string, text: string, secrets: Secrets): Taken {
  let row: Row | undefined
  return {
    table,
    text,
    get row() {
      return (row ??= rowOf(table, text, secrets))
    },
  }
}

function rowOf(table: string, text: string, secrets: Secrets): Row {
  const row = JSON.parse(text) as Row
  // The order of all deliveries there ever were.
  if (table === 'webhook_deliveries') delete row.seq
  // Digests under a key of each project: how many there are is what can be compared.
  if (table === 'message_words') row.words = `${(row.words as unknown[]).length} digests`
  return table === 'mails' ? opened(row, secrets) : row
}

function opened(row: Row, secrets: Secrets): Row {
  if (typeof row.sealed_body !== 'string') return row
  const body = secrets.unseal(row.sealed_body, `mail/${String(row.id)}`, 'mails')
  return { ...row, sealed_body: JSON.parse(body) as unknown }
}

/** The rows that came, the columns that changed, and the rows that went. */
export function changesBetween(before: Picture, after: Picture): unknown[] {
  const newRows = [...after].filter(([key]) => !before.has(key)).map(([, row]) => row)
  const oldRows = [...before].filter(([key]) => !after.has(key)).map(([, row]) => row)
  const shown = createNumbering([...newRows, ...oldRows])
  const came = newRows.map(({ table, row }) => ({ [`+ ${table}`]: shown(table, row) }))
  const went = oldRows.map(({ table, row }) => ({ [`- ${table}`]: shown(table, row) }))
  const changed = [...after].flatMap(([key, taken]) => {
    const former = before.get(key)
    if (!former || former.text === taken.text) return []
    const [{ table, row }, { row: old }] = [taken, former]
    const columns = Object.keys(row).filter((name) => JSON.stringify(row[name]) !== JSON.stringify(old[name]))
    if (columns.length === 0) return []
    return [{ [`= ${table}`]: Object.fromEntries(columns.map((name) => [name, [old[name], row[name]]])) }]
  })
  return [...came, ...changed, ...went]
}

/** Columns that are numbered through the whole database, by table. */
const NUMBERED: Record<string, string> = { messages: 'seq', message_words: 'seq', limit_counts: 'id' }

/** A picture counts its own from 1, so that it is the same alone. */
function createNumbering(rows: readonly { table: string; row: Row }[]): (table: string, row: Row) => Row {
  return (table, row) => {
    const column = NUMBERED[table]
    if (column === undefined) return row
    const numbers = rows.flatMap((each) => (each.table === table ? [Number(each.row[column])] : []))
    return { ...row, [column]: numbers.toSorted((a, b) => a - b).indexOf(Number(row[column])) + 1 }
  }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const MOMENT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)/g
const WRITTEN_OUT = /\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g
const DAY = /\b\d{4}-\d\d-\d\d\b/g
const RANDOM: [pattern: RegExp, name: string][] = [
  [/\\\\x[0-9a-f]{2,}/g, 'bytes'],
  [/\b[0-9a-f]{32}\b/g, 'hex'],
  [/\b10\.9\.\d+\.\d+\b/g, 'address'],
  [/v2\.\d+(?:\.[\w-]+){4,}/g, 'sealed'],
  [/("(?:token|last4|secret_last4|secretLast4)":")[^"]+/g, '$1…'],
  [/ply_([ps]k)_[A-Za-z0-9]+(?:…\w{4})?/g, 'ply_$1_…'],
  [/whsec_[\w+/=]+/g, 'whsec_…'],
  [/(token=|parley-verify=)[\w.-]+/g, '$1…'],
  [/chatcmpl-sim-\d+-\d+/g, 'chatcmpl-…'],
  // The end of a key, where its name alone would not do.
  [/\(…[0-9A-Za-z]{4}\)/g, '(…key)'],
  [/(chatcmpl-|req_|cs_test_|rec_)\w+/g, '$1…'],
  [/\/([rw])\/[\w-]{56}/g, '/$1/…'],
  [/[\w-]{56}(?=\/report\b)/g, '…'],
  [/("(week|month)_started_at":")<day -?\d+ begins>/g, '$1<$2 begins>'],
  [/("(?:ms|\w+_ms|\w+Ms)":)\d+(?:\.\d+)?/g, '$1"ms"'],
]

type Spans = 'hours' | 'days' | 'none'

export interface PlainerOptions {
  /** Ids by the names that they get. Those that are not known are numbered as they appear. */
  known: Record<string, string>
  /** Texts that another run would not have, and what to call them. */
  hidden?: readonly (readonly [text: string, name: string])[]
  /** The unit for moments at which an hour or a day begins: at midnight, both do. `none`: they are moments like others. */
  spans?: Spans
  /** Moments since then count as now, however slow the machine is. */
  sinceMs?: number
}

/** Replaces what no two runs have in common. */
export function createPlainer({
  known,
  hidden = [],
  spans = 'days',
  sinceMs,
}: PlainerOptions): (value: unknown) => unknown {
  const names = new Map(Object.entries(known).map(([name, id]) => [id, name]))
  const nowMs = Date.now()
  const toldOf = (moment: string) => distanceOf(moment, { nowMs, sinceMs: sinceMs ?? nowMs, spans })
  const nameOf = (id: string) => {
    const name = names.get(id) ?? `id ${names.size + 1}`
    names.set(id, name)
    return `<${name}>`
  }
  return (value: unknown): unknown => {
    let text = JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part))
    text = text.replaceAll(UUID, nameOf).replaceAll(MOMENT, toldOf)
    text = text.replaceAll(WRITTEN_OUT, (moment) => toldOf(new Date(moment).toISOString()))
    text = text.replaceAll(/([^\\]":)?\b(1[7-9]\d{8})\b/g, (_, name: string | undefined, seconds: string) => {
      const told = toldOf(new Date(Number(seconds) * 1_000).toISOString())
      // A number of its own has to become a text.
      return name === undefined ? told : `${name}"${told}"`
    })
    text = text.replaceAll(DAY, (day) => `<day ${Math.round((Date.parse(day) - startOfDay(nowMs)) / DAY_MS)}>`)
    for (const [random, name] of hidden) text = text.replaceAll(random, `<${name}>`)
    for (const [pattern, name] of RANDOM) text = text.replaceAll(pattern, name)
    return JSON.parse(text) as unknown
  }
}

function startOfDay(ms: number): number {
  return new Date(ms).setUTCHours(0, 0, 0, 0)
}

interface Now {
  nowMs: number
  sinceMs: number
  spans: Spans
}

/** To the minute or, from two hours on, to the hour: a request takes a moment, a promise lasts for hours or days. */
function distanceOf(moment: string, { nowMs, sinceMs, spans }: Now): string {
  const ms = Date.parse(moment) - nowMs
  // Where an hour or a day begins is no distance from now.
  if (spans === 'days' && /T00:00:00(\.0+)?(Z|\+)/.test(moment))
    return `<day ${Math.round((ms + nowMs - startOfDay(nowMs)) / DAY_MS)} begins>`
  if (spans === 'hours' && /:00:00(\.0+)?(Z|\+)/.test(moment)) return `<hour ${Math.floor(ms / HOUR_MS) + 1} begins>`
  const minutes = Math.round(ms / MINUTE_MS)
  if (Math.abs(minutes) <= 1 || (minutes < 0 && ms + nowMs >= sinceMs)) return '<now>'
  const sign = minutes < 0 ? '-' : '+'
  const size = Math.abs(minutes)
  return size < 120 ? `<${sign}${size} min>` : `<${sign}${Math.round(size / 60)} h>`
}

const LINE_CHARACTERS_MAX = 160

/** Values that fit on a line are written on one line: a picture is there to be read. */
snapshot.setDefaultSnapshotSerializers([(value: unknown) => compact(value, '')])

function compact(value: unknown, indent: string): string {
  const line = JSON.stringify(value, null, 1).replaceAll(/\n\s*/g, ' ')
  if (typeof value !== 'object' || value === null || indent.length + line.length <= LINE_CHARACTERS_MAX) return line
  const deeper = `${indent}  `
  const parts = Array.isArray(value)
    ? value.map((part) => compact(part, deeper))
    : Object.entries(value).map(([name, part]) => `${JSON.stringify(name)}: ${compact(part, deeper)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const isFlat = !Array.isArray(value) && parts.every((part) => !part.includes('\n'))
  const lines = isFlat ? filled(parts, deeper.length) : parts
  return `${open}\n${lines.map((each) => deeper + each).join(',\n')}\n${indent}${close}`
}

/** As many to a line as fit. */
function filled(parts: readonly string[], indent: number): string[] {
  const lines: string[] = []
  for (const part of parts) {
    const longer = `${lines.at(-1)}, ${part}`
    if (lines.length > 0 && indent + longer.length <= LINE_CHARACTERS_MAX) lines[lines.length - 1] = longer
    else lines.push(part)
  }
  return lines
}
