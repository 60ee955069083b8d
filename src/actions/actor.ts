/** On whose behalf something is done. Nothing is done without saying it. */
export type Actor = Person | Operator | Parley

/** Somebody who is signed in to the console. */
export interface Person {
  kind: 'person'
  id: string
  name: string
  from: { ip: string; userAgent: string | null }
}

/** The person who runs the command line. */
export interface Operator {
  kind: 'operator'
  /** Their user on that machine. */
  id: string
  /** Why, in their words. */
  reason: string | undefined
}

/** A job of ours, by the clock. */
export interface Parley {
  kind: 'parley'
}

export const PARLEY: Parley = { kind: 'parley' }
