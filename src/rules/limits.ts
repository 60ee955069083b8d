import { DAY_MS, MINUTE_MS } from './durations.ts'

/** Every limit and timer of the data plane, in one place. Those a deployment may override say so. */

export const BODY_BYTES_MAX = 8 * 1024 * 1024
export const JSON_DEPTH_MAX = 32
const JSON_KEYS_MAX = 10_000
/** In all arrays together: 8 MB of empty ones take JSON.parse a second. */
const JSON_ITEMS_MAX = 10_000
export const JSON_LIMITS = { depthMax: JSON_DEPTH_MAX, keysMax: JSON_KEYS_MAX, itemsMax: JSON_ITEMS_MAX }
/** Fields, and items in arrays, of all arguments of tools in a request: as many take 20 ms to parse. */
export const TOOL_INPUT_SIZE_MAX = 100_000
export const MESSAGES_MAX = 2_048

/** For one request for embeddings, as OpenAI's. */
export const EMBEDDING_INPUTS_MAX = 2_048
export const EMBEDDING_TOKENS_MAX = 300_000
/** The longest vectors that are known are this long: memory for an answer is set aside for no more. */
export const VECTOR_DIMENSIONS_MAX = 4_096
/** Inputs may be lists of token ids, so there may be as many items as tokens, but no more lists than inputs and then some. */
export const EMBEDDINGS_JSON_LIMITS = {
  depthMax: JSON_DEPTH_MAX,
  keysMax: JSON_KEYS_MAX,
  itemsMax: EMBEDDING_TOKENS_MAX + JSON_ITEMS_MAX,
  bracketsMax: JSON_ITEMS_MAX,
}
/** The most that a caller may ask for. Clients that want no limit send the largest integer that they know. */
export const MAX_TOKENS_MAX = 2 ** 31 - 1
export const HEADER_BYTES_MAX = 16 * 1024
export const CLIENT_HEADERS_TIMEOUT_MS = 10_000
export const CLIENT_REQUEST_TIMEOUT_MS = 30_000

/** For every HTTP server of ours, as Fastify takes it. */
export const CLIENT_LIMITS = {
  requestTimeout: CLIENT_REQUEST_TIMEOUT_MS,
  http: {
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: CLIENT_HEADERS_TIMEOUT_MS,
    /** Node looks only every 30 s by itself, so a client without an end of its headers would stay for 40 s. */
    connectionsCheckingInterval: 500,
  },
}
/** A client that was refused and does not close its side of the connection keeps it no longer than this. */
export const CLIENT_LINGER_MS = 1_000

/** Limits on what one caller may take of a process before its body is read. An installation may override each. */
export interface IntakeLimits {
  /** Requests, also those that are refused. */
  addressRequestsPerSecond: number
  keyPairRequestsPerSecond: number
  /** For one browser session, whose secret anyone at the browser can take. */
  sessionRequestsPerSecond: number
  sessionCallsAtOnce: number
  /** The share of PARLEY_CALLS_MAX for the calls in flight of one project, and of one of its key pairs. */
  projectCallsPercent: number
  keyPairCallsPercent: number
  /** The share of the process's time for parsing and counting the requests of one account. */
  accountWorkPercent: number
  /** The memory that the bodies of all calls in flight may take. */
  bodiesBytesMax: number
  /** The share of it for one project, with all its key pairs, or for one of them. */
  keyPairBodiesPercent: number
  /** An upload that brings nothing for so long has ended. */
  uploadSilenceMs: number
  /** … and so has one that brings less, after a while. */
  uploadBytesPerSecond: number
}
export const INTAKE_LIMITS: IntakeLimits = {
  addressRequestsPerSecond: 1_000,
  keyPairRequestsPerSecond: 200,
  sessionRequestsPerSecond: 10,
  sessionCallsAtOnce: 10,
  projectCallsPercent: 20,
  keyPairCallsPercent: 20,
  accountWorkPercent: 20,
  bodiesBytesMax: 512 * 1024 * 1024,
  keyPairBodiesPercent: 25,
  uploadSilenceMs: 5_000,
  uploadBytesPerSecond: 4 * 1024,
}
/** A browser session's life, calls and money: what it has unless its maker says otherwise, and the most that there may be. */
export const SESSION_LIMITS = {
  seconds: 900,
  secondsMax: 3_600,
  calls: 50,
  callsMax: 10_000,
  moneyNanos: 500_000_000n,
  /** They are read with every look-up of the session. */
  originsMax: 20,
  /** The longest name that DNS has, with its scheme and a port. */
  originCharactersMax: 'https://'.length + 253 + ':65535'.length,
  /** For one key pair, at the same time. */
  aliveMax: 10_000,
}
/** How many times PARLEY_CALLS_MAX there may be, with those of projects that have less than an equal part of it. */
export const CALLS_OVERFLOW = 2
/** The time that a slow upload gets before its rate counts. */
export const UPLOAD_GRACE_MS = 5_000
/** How long an upload waits for memory before it is refused. */
export const UPLOAD_WAIT_MS = 2_000
/** A longer body is not read for a wallet that is empty. */
export const UNPAID_BODY_BYTES_MAX = 64 * 1024
/** A longer body is parsed and counted in turns with others of its kind. */
export const LARGE_BODY_BYTES = 256 * 1024

/** The four timers of an upstream call; a deployment may override each. */
export interface UpstreamTimers {
  /** Until the connection stands, TLS included. */
  connectMs: number
  /** From sending the request to the first chunk of the answer. */
  firstTokenMs: number
  /** The longest silence between two chunks. */
  idleMs: number
  /** The whole call. */
  totalMs: number
}
export const UPSTREAM_TIMERS: UpstreamTimers = {
  connectMs: 3_000,
  firstTokenMs: MINUTE_MS,
  idleMs: 30_000,
  totalMs: 15 * MINUTE_MS,
}

/** One server-sent event, or one error body, of a provider. */
export const EVENT_BYTES_MAX = 1024 * 1024

/** A caller that reads nothing for this long while data waits for it is treated as gone. */
export const SLOW_READER_MS = 30_000
/** … and so is one that reads now and then, when all its breaks together have come to this. */
export const SLOW_READER_TOTAL_MS = 10 * MINUTE_MS
/** The text that is kept for a caller that does not read: more than a model writes in the time that the caller may take. */
export const UNREAD_CHARACTERS_MAX = 1024 * 1024
/** After so long a break, a provider that has given up has given up on the caller. */
export const STALL_BLAMED_MS = 3_000

/**
 * How long the answer of a caller that hung up is read on, to know what it came to: until the provider reports what
 * nobody else can know (hidden thoughts, images, files), or, if the caller was not reading, until the buffers on the way are
 * empty.
 */
export const READ_ON_MS = { unknown: MINUTE_MS, stalled: 15_000 }

/** More calls than any model makes at once. Those beyond it are not passed on, and charged like the rest of the answer. */
export const TOOL_CALLS_MAX = 128

/** How long a new call waits for an answer of the store before it is answered 503. */
export const STORE_WAIT_MS = 1_000
/** How long a running answer waits for its hold to grow before it is cut. */
export const EXTEND_WAIT_MS = 10_000
/** How long a finished answer waits to be charged before it ends in an error instead of [DONE]. */
export const SETTLE_WAIT_MS = 30_000

/** How long an Idempotency-Key is remembered. */
export const IDEMPOTENCY_KEPT_MS = DAY_MS

/** Text of messages that each gateway keeps for a project per UTC day (PARLEY_MESSAGES_MIB_PER_DAY): half a million of two KB. */
export const MESSAGES_BYTES_PER_DAY = 1024 * 1024 * 1024

/** A gateway's holds are swept when it has been silent for the lease (PARLEY_LEASE_MS). */
export const LEASE_MS = MINUTE_MS
/** How often a gateway says that it lives, and a worker looks for those that do not. */
export const BEATS_PER_LEASE = 12
/** No call runs longer than the total timer and its caller's breaks allow; a hold this old belongs to nobody. */
export const LONGEST_CALL_MS = UPSTREAM_TIMERS.totalMs * 4 + SLOW_READER_TOTAL_MS + READ_ON_MS.unknown + MINUTE_MS
