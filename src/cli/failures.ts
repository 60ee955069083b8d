import { isUuid } from '../platform/uuid.ts'
import { ParleyError } from '../rules/errors.ts'
import { NotArchived } from '../store/archive.ts'
import { isUnavailable } from '../store/database.ts'
import { MigrationBusy } from '../store/migrate.ts'
import { DatabaseTooNew, ForeignMigration, numberOf } from '../store/migrations.ts'
import { WrongSecret } from '../store/secret-versions.ts'
import { BrokenFunction } from '../store/sql-functions.ts'

/** Something an operator can mend: its message is one sentence that says what happened and what to do. */
export class CliError extends Error {}

/** Where the ids of each noun are shown. */
const LISTS = {
  publisher: 'parley publisher list',
  project: 'parley project list',
  'key pair': 'parley key list PROJECT',
  provider: 'parley provider list',
  model: 'parley model list',
  route: 'parley model show MODEL',
  conversation: 'parley conversation list PROJECT',
  'end user': 'parley end-user list PROJECT',
  session: 'parley sessions list PROJECT',
  transfer: 'parley wallet ledger PROJECT',
  advertiser: 'parley advertiser list',
  campaign: 'parley campaign list',
  offer: 'parley offers list',
  feed: 'parley offers runs',
}
type Noun = keyof typeof LISTS

export function unknownId(noun: Noun, id: string): CliError {
  return new CliError(`There is no ${noun} ${id}. List them with: ${LISTS[noun]}`)
}

/** For what an action did not find: the command knows what was typed. */
export function orUnknown(noun: Noun, id: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof ParleyError && error.code === 'not_found' ? unknownId(noun, id) : error
  }
}

/** Capitals are accepted: people type or paste ids. */
export function isId(text: string): boolean {
  return isUuid(text.toLowerCase())
}

/** Checked here because the store would answer a malformed id with an error that names no remedy. */
export function expectId(noun: Noun, id: string): void {
  if (isId(id)) return
  const article = /^[aeiou]/.test(noun) ? 'an' : 'a'
  throw new CliError(`"${id}" is not the id of ${article} ${noun}, which is a uuid. List them with: ${LISTS[noun]}`)
}

export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
  return typeof code === 'string' ? code : undefined
}

const UNDEFINED_TABLE = '42P01'
const UNDEFINED_COLUMN = '42703'
const UNDEFINED_FUNCTION = '42883'
const UNKNOWN_DATABASE = '3D000'
export const NO_RIGHT = '42501'
const REFUSED = new Set(['28P01', '28000'])
/** A deadlock, a lock or a statement that took too long. */
const BUSY = new Set(['40P01', '55P03', '57014'])
const READ_ONLY = '25006'
const NO_CONNECTION_LEFT = '53300'
export const DISK_FULL = '53100'
/** It starts, recovers, or was told to let nobody in. */
const LETS_NOBODY_IN = new Set(['57P03', '55000'])
/** By an administrator, or because the server stops. */
const TERMINATED = '57P01'
export const UNIQUE_VIOLATION = '23505'
export const FOREIGN_KEY_VIOLATION = '23503'

/** Errors whose messages are for operators already. */
const SENTENCES = [CliError, BrokenFunction, DatabaseTooNew, ForeignMigration, NotArchived, WrongSecret]

/** Returns what an operator has to know of a failure: never a stack trace, never the password in the address. */
export function sentenceOf(error: unknown, databaseUrl: string): string {
  if (SENTENCES.some((kind) => error instanceof kind)) return (error as Error).message
  // An action's refusals are written for people, and a command names no fields.
  if (error instanceof ParleyError) return error.options.fields?.[0]?.message ?? error.message
  return (
    databaseProblemOf(error, databaseUrl) ??
    `This failed: ${error instanceof Error ? error.message.replace(/\.$/, '') : 'unknown'}.`
  )
}

function databaseProblemOf(error: unknown, databaseUrl: string): string | undefined {
  const state = codeOf(error) ?? ''
  const url = URL.parse(databaseUrl)
  const at = url ? ` at ${url.host}` : ''
  if ([UNDEFINED_TABLE, UNDEFINED_COLUMN, UNDEFINED_FUNCTION].includes(state)) {
    return 'The database does not have the tables of this version. Run: parley migrate'
  }
  if (state === UNKNOWN_DATABASE) {
    return `There is no database "${url?.pathname.slice(1) ?? ''}"${at}. Create it with createdb, or correct DATABASE_URL.`
  }
  if (state === NO_RIGHT && error instanceof Error) {
    const who = decodeURIComponent(url?.username ?? '') || 'This login'
    return `${who} has no right to do this (${error.message}). Commands need the login that owns the tables; for roles see docs/operations.md, Hosted databases.`
  }
  // node-postgres reports a missing password by text alone.
  if (REFUSED.has(state) || (error instanceof Error && error.message.startsWith('SASL'))) {
    return `The database${at} refuses the user or the password in DATABASE_URL. Correct DATABASE_URL.`
  }
  const nothing = error instanceof MigrationBusy ? `nothing of ${numberOf(error.migration)} was changed` : undefined
  if (state === TERMINATED) {
    const what = nothing ?? 'what it had not finished was not changed'
    return `The database${at} has ended this connection (${state}: an administrator, or a restart): ${what}. Run it again.`
  }
  if (BUSY.has(state) || nothing !== undefined) {
    return `The database is busy (${state}): ${nothing ?? 'the statement that failed changed nothing'}. Run it again.`
  }
  return unwillingOf(state, at) ?? (isUnavailable(error) ? unreachable(state, at) : undefined)
}

/** It answers, and will not. */
function unwillingOf(state: string, at: string): string | undefined {
  if (state === READ_ONLY) {
    return `The database${at} is read-only: nothing was changed. If it is a standby, point DATABASE_URL at the server that took over.`
  }
  if (state === NO_CONNECTION_LEFT) {
    return `The database${at} has no connections left: nothing was changed. Close some, or raise its max_connections, and run it again.`
  }
  if (state === DISK_FULL) return `The disk of the database${at} is full. Make room, then run it again.`
  return undefined
}

function unreachable(state: string, at: string): string {
  if (LETS_NOBODY_IN.has(state)) {
    return `The database${at} takes no connections right now (${state}): nothing was changed. It may be starting up, be a standby, or be closed to everyone (allow_connections).`
  }
  return `The database${at} cannot be reached. Check that it runs and that DATABASE_URL is right.`
}
