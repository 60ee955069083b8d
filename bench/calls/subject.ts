/** The subjects that answer calls in the benchmark. Each is one small module next to this one that exports how it is started. */

export const SUBJECTS = ['direct', 'bare', 'parley', 'before', 'portkey', 'full'] as const
export type SubjectName = (typeof SUBJECTS)[number]

export interface Subject {
  readonly name: SubjectName
  /** Starts a process of it. Another one may be started beside it, for what has to be measured on a fresh process. */
  start(): Promise<Running>
}

export interface Running {
  /** Without a path. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The process whose CPU time and memory are its own. Undefined: nothing is between caller and provider. */
  readonly pid?: number
  /** Its own PostgreSQL, if it has one: nobody else's work is in that process or its children. */
  readonly postgres?: { readonly pid: number; readonly version: string }
  stop(): Promise<void>
}

export interface Surroundings {
  /** The simulated provider, without a path. */
  readonly providerUrl: string
  /** This stack undoes everything that was started or made, also after Ctrl-C. */
  readonly ending: AsyncDisposableStack
  say(line: string): void
}

/** A reason to leave a subject out, in words for whoever reads the output: the others are measured without it. */
export class NotHere extends Error {}

/** The credential that the simulated provider wants from callers that ask it without Parley. */
export const ANY_KEY = { authorization: 'Bearer bench-key' }
