/**
 * Parley's promises for each way in which a provider can fail. The ids are those of simulator/faults.ts and of the
 * places in places.ts; `@0` strikes before the first chunk of the answer, where the plain id strikes after the third.
 *
 * This table is written from the promises and not from the code: a cell of the matrix that differs is a bug or a
 * decision, never a reason to copy what was seen.
 */

export type Expected = Refused | Broken | Whole

type Failure = 'upstream_failed' | 'timed_out' | 'truncated'

/** Nothing of an answer came: 502, or 503 where the provider limits us, and free with one route, the second route's answer with two. */
export interface Refused {
  ending: 'refused'
  kinds: readonly string[]
  outcomes: readonly Failure[]
  /** The peer must not have been told the prompt: it has not proved who it is. */
  isNeverAsked?: boolean
  withinMs: number
}

/** A part of an answer came: an error event without [DONE], or 502; free, never completed by another route. */
export interface Broken {
  ending: 'broken'
  kinds: readonly string[]
  outcomes: readonly Failure[]
  withinMs: number
}

/** The answer came whole, to the letter. */
export interface Whole {
  ending: 'whole'
  charged: 'as reported' | 'as counted'
  /** Reported usage that cannot be true is flagged, and usage that is missing. */
  isAnomalous: boolean
  withinMs: number
}

/** Timers are short where a fault is about them. The rest is patience with a machine that runs many cells at once. */
export const SHORT_MS = 300
const PATIENCE_MS = 2_000

export function refused(kinds: string | readonly string[], more: Partial<Refused> = {}): Refused {
  return { ending: 'refused', kinds: [kinds].flat(), outcomes: ['upstream_failed'], withinMs: PATIENCE_MS, ...more }
}

export function broken(kinds: string | readonly string[], outcome: Failure = 'upstream_failed'): Broken {
  return { ending: 'broken', kinds: [kinds].flat(), outcomes: [outcome], withinMs: PATIENCE_MS }
}

export function whole(charged: Whole['charged'] = 'as reported', more: Partial<Whole> = {}): Whole {
  const { withinMs = PATIENCE_MS } = more
  return { ending: 'whole', charged, isAnomalous: false, ...more, withinMs }
}

const liedTo = whole('as counted', { isAnomalous: true })
const isNeverAsked = true

export const EXPECTED: Record<string, Expected> = {
  none: whole(),

  U1: refused('refused', { withinMs: 1_000 }),
  U2: refused('connect_timeout', { outcomes: ['timed_out'], withinMs: 2 * SHORT_MS + 1_000 }),
  'U3-trusted': whole(),
  'U3-expired': refused('tls', { isNeverAsked }),
  'U3-wrong-host': refused('tls', { isNeverAsked }),
  'U3-self-signed': refused('tls', { isNeverAsked }),
  'U3-untrusted': refused('tls', { isNeverAsked }),
  'U3-plain': refused('tls', { isNeverAsked }),
  'U4-nxdomain': refused('dns'),
  'U4-servfail': refused('dns'),
  'U4-silent': refused('dns', { withinMs: 2_600 }),
  'U4-slow': whole(),
  'U4-stale': whole(),

  U5: refused('first_token_timeout', { outcomes: ['timed_out'], withinMs: SHORT_MS + 1_000 }),
  U6: broken('idle_timeout', 'timed_out'),
  'U6@0': refused(['idle_timeout', 'first_token_timeout'], { outcomes: ['timed_out'] }),

  'U7-bom': whole(),
  'U7-cr': whole(),
  'U7-nospace': whole(),
  'U7-comments': whole(),
  'U7-multiline': whole(),
  'U7-unknown-fields': whole(),
  'U7-noblank': whole(),
  'U7-badjson': broken('bad_event'),
  'U7-badjson@0': refused('bad_event'),
  U8: whole('as reported', { withinMs: 60_000 }),
  'U9-bigevent': broken('event_too_big'),
  'U9-bigjson': refused('error_in_200'),

  U10: refused('rate_limited'),
  'U10-date': refused('rate_limited'),
  'U10-garbage': refused('rate_limited'),
  'U10-huge': refused('rate_limited'),
  'U10-body': refused('rate_limited'),
  'U11-500': refused('server_error'),
  'U11-502': refused('server_error'),
  'U11-503': refused('server_error'),
  'U11-529': refused('server_error'),
  'U12-json': refused('error_in_200'),
  'U12-sse': refused('error_in_200'),
  'U12-midstream': broken('error_in_200'),
  U13: whole('as counted', { isAnomalous: true }),

  'U14-eof': broken('truncated', 'truncated'),
  'U14-eof@0': refused('truncated', { outcomes: ['truncated'] }),
  'U14-close': broken('truncated', 'truncated'),
  'U14-close@0': refused('truncated', { outcomes: ['truncated'] }),
  'U14-short': broken('truncated', 'truncated'),
  'U14-rst': broken('truncated', 'truncated'),
  'U14-rst@0': refused(['truncated', 'reset'], { outcomes: ['truncated', 'upstream_failed'] }),
  'U14-nodone': broken('truncated', 'truncated'),

  U15: whole(),
  'U15-late': whole(),
  'U16-gzip': refused('encoding'),
  'U16-twice': refused('encoding'),
  'U16-bomb': refused('encoding'),
  'U17-headers': refused('protocol'),
  'U17-bigheader': refused('protocol'),
  'U17-status': refused('protocol'),
  'U17-chunk': broken('truncated', 'truncated'),
  U18: refused('redirect'),

  'U19-negative': liedTo,
  'U19-huge': liedTo,
  'U19-string': liedTo,
  'U19-null': liedTo,
  'U19-nan': broken('bad_event'),
}
