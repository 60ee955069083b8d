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

/** What may be said of an error that is not ours: its name and code, for its text may quote a prompt or a key. */
export function errorFields(error: unknown): { error: string; errorCode?: string } {
  if (!(error instanceof Error)) return { error: typeof error }
  const code = (error as { code?: unknown }).code
  return typeof code === 'string' ? { error: error.name, errorCode: code } : { error: error.name }
}
