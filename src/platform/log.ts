import { pino, type Logger } from 'pino'

/**
 * Log lines are built from listed fields, never from objects that happened to be at hand: no header, no body, no URL
 * query, no error text that somebody else wrote. The scrubber below is the last line of defence, not the first.
 */
export type Log = Logger

/** Our own keys, the common provider keys, those of Stripe, and bearer tokens. */
const SECRET_SHAPES =
  /ply_[ps]k_\w{4,}|\b(?:[rs]k_(?:live|test)|whsec)_[\w+/=]{8,}|\bsk-[\w-]{8,}|\bAIza[\w-]{20,}|\b[Bb]earer\s+[\w.~+/-]{8,}/g

export function createLog(level: string, destination?: { write(line: string): unknown }): Log {
  // Synchronous on purpose: an asynchronous destination loses its last lines when the process is killed, and hangs at
  // exit when the disk is full.
  const out = destination ?? pino.destination({ fd: 1, sync: true })
  return pino(
    {
      level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => out.write(line.replace(SECRET_SHAPES, '[secret]')) },
  )
}

export interface ErrorFields {
  error: string
  errorCode?: string
  /** The problem, where a fixed sentence can name it. */
  problem?: string
}

/**
 * The fields that may be logged of an error that is not ours: its name and code, for its text may quote a prompt or a key. An
 * error without a code gets the code of its cause: one that gave up waiting for the store tells why the store took nothing.
 */
export function errorFields(error: unknown): ErrorFields {
  if (!(error instanceof Error)) return { error: typeof error }
  const { code, problem } = codeAndProblemOf(error) ?? codeAndProblemOf(error.cause) ?? {}
  return {
    error: error.name,
    ...(code !== undefined && { errorCode: code }),
    ...(problem !== undefined && { problem }),
  }
}

function codeAndProblemOf(error: unknown): { code?: string | undefined; problem?: string | undefined } | undefined {
  if (!(error instanceof Error)) return undefined
  const { code } = error as { code?: unknown }
  const problem = storeProblemOf(error)
  if (typeof code !== 'string' && problem === undefined) return undefined
  return { code: typeof code === 'string' ? code : undefined, problem }
}

/** Where an error arose, without its text, which may quote a prompt or a key. */
export function framesOf(error: unknown): string[] {
  if (!(error instanceof Error) || error.stack === undefined) return []
  // A text of several lines may have one that looks like a frame.
  const afterText = error.stack.indexOf(error.message) + error.message.length
  return error.stack
    .slice(afterText)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at '))
}

/** node-postgres tells these by text alone. */
const CONNECTION_PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [/^timeout exceeded when trying to connect$/, 'no connection to the database came free in time'],
  [/^Connection terminated due to connection timeout$/, 'the database could not be reached in time'],
  [/^Query read timeout$/, 'the database did not answer in time'],
  [/^Connection terminated/, 'the connection to the database was lost'],
]

/**
 * Names problems that an operator can do something about: refusals that no repetition mends, and connections. `urlFrom`: the
 * variable that names the login, as the store says.
 */
function storeProblemOf(error: Error & { code?: unknown; urlFrom?: unknown }): string | undefined {
  const { code, message, urlFrom } = error
  const state = typeof code === 'string' ? code : ''
  if (state === '42501') return 'the login lacks a right: run the migrations, or parley doctor'
  if (state === '53100') return "the database's disk is full"
  if (state === 'ENOSPC') return "this host's disk is full"
  // A missing password, too, is told by text alone.
  const isRefused = /^28\w{3}$/.test(state) || (state === '' && message.startsWith('SASL'))
  if (!isRefused) return state === '' ? CONNECTION_PROBLEMS.find(([text]) => text.test(message))?.[1] : undefined
  return `the database refuses the login${typeof urlFrom === 'string' ? ` in ${urlFrom}` : ''}`
}
