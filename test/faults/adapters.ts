import { EXPECTED, broken, refused, whole, type Expected } from './expected.ts'

/** The first event already reports usage, so that a number which is none breaks the stream before the answer begins. */
const USAGE_COMES_FIRST = { 'U19-nan': refused('bad_event') }

/** A wire format, as one row of data: what the matrix needs to know to try every fault on it. */
export interface Adapter {
  /** Absent: it is called as its kind. */
  name?: string
  /** The provider's kind in the database. */
  kind: string
  /** Tried at the endpoint for embeddings, and not for chats. */
  isEmbedding?: boolean
  /** The path of the simulator's base URL. */
  basePath: string
  apiKey?: string
  settings?: Record<string, unknown>
  /** By fault, or by the beginning of its id: why it cannot happen here. */
  notApplicable: Record<string, string>
  /** Where the format makes a fault end otherwise than in the table.  */
  otherwise: Record<string, Expected>
}

const ALWAYS_STREAMS = 'answers are always asked for as a stream, also for callers who want JSON'
const NO_LINES = 'its streams are frames of bytes, which have no lines'

export const ADAPTERS: readonly Adapter[] = [
  {
    kind: 'openai-compatible',
    basePath: '/v1',
    notApplicable: { 'U9-bigjson': ALWAYS_STREAMS },
    // The reason to finish and the usage have come, and the body has ended: some real ones never send more.
    otherwise: { 'U14-nodone': whole() },
  },
  {
    kind: 'anthropic',
    basePath: '/v1',
    notApplicable: { 'U9-bigjson': ALWAYS_STREAMS },
    otherwise: USAGE_COMES_FIRST,
  },
  {
    kind: 'gemini',
    basePath: '/v1beta',
    notApplicable: { 'U9-bigjson': ALWAYS_STREAMS },
    otherwise: USAGE_COMES_FIRST,
  },
  {
    kind: 'vertex',
    basePath: '/v1',
    notApplicable: { 'U9-bigjson': ALWAYS_STREAMS },
    otherwise: USAGE_COMES_FIRST,
  },
  {
    kind: 'bedrock',
    basePath: '',
    settings: { region: 'eu-north-1' },
    notApplicable: {
      'U7-bom': NO_LINES,
      'U7-cr': NO_LINES,
      'U7-nospace': NO_LINES,
      'U7-comments': NO_LINES,
      'U7-multiline': NO_LINES,
      'U7-unknown-fields': NO_LINES,
      'U7-noblank': NO_LINES,
      'U9-bigjson': ALWAYS_STREAMS,
    },
    otherwise: {
      // The last event reports usage and nothing else: the one before it has already ended the answer.
      'U14-nodone': whole('as counted', { isAnomalous: true }),
      // The package that reads the events takes counts that are no numbers for a broken event.
      'U19-string': broken('bad_event'),
      'U19-null': broken('bad_event'),
    },
  },
]

const ONE_BODY = 'vectors come as one JSON body, which has no events'
const WITHOUT_EVENTS = {
  'U7-bom': ONE_BODY,
  'U7-cr': ONE_BODY,
  'U7-nospace': ONE_BODY,
  'U7-comments': ONE_BODY,
  'U7-multiline': ONE_BODY,
  'U7-unknown-fields': ONE_BODY,
  'U7-noblank': ONE_BODY,
  'U7-badjson': ONE_BODY,
  'U7-badjson@0': ONE_BODY,
  'U9-bigevent': ONE_BODY,
  'U9-memory': ONE_BODY,
  'U12-sse': ONE_BODY,
  'U12-midstream': ONE_BODY,
  'U14-nodone': ONE_BODY,
}

/** Nothing is passed on before all of it is there: whatever breaks midway is as if nothing had come, and goes to the next route. */
const ALL_OR_NOTHING: Record<string, Expected> = {
  U6: refused('idle_timeout', { outcomes: ['timed_out'] }),
  'U9-bigjson': refused('event_too_big', { withinMs: 10_000 }),
  ...Object.fromEntries(
    ['U14-eof', 'U14-close', 'U14-short', 'U14-rst', 'U17-chunk'].map((fault) => [
      fault,
      refused('truncated', { outcomes: ['truncated'] }),
    ]),
  ),
}

/** Google's format has no place for a report, so that nobody can lie in it either. */
const NEVER_REPORTED = Object.fromEntries(
  ['none', 'U3-trusted', 'U4-slow', 'U4-stale', 'U8', 'U13', 'U15', 'U15-late', 'U15-crowd']
    .concat(['U19-negative', 'U19-huge', 'U19-string', 'U19-null', 'U19-nan'])
    .map((fault) => [fault, whole('as counted', { withinMs: fault === 'U8' ? 60_000 : undefined })]),
)

/** The wire formats that have embeddings. */
export const EMBEDDING_ADAPTERS: readonly Adapter[] = [
  {
    name: 'openai-embeddings',
    kind: 'openai-compatible',
    isEmbedding: true,
    basePath: '/v1',
    settings: { embeddingFormat: 'base64' },
    notApplicable: WITHOUT_EVENTS,
    otherwise: { ...ALL_OR_NOTHING, U13: whole('as counted'), 'U19-nan': refused('bad_event') },
  },
  {
    name: 'openai-embeddings-float',
    kind: 'openai-compatible',
    isEmbedding: true,
    basePath: '/v1',
    notApplicable: WITHOUT_EVENTS,
    otherwise: { ...ALL_OR_NOTHING, U13: whole('as counted'), 'U19-nan': refused('bad_event') },
  },
  {
    name: 'gemini-embeddings',
    kind: 'gemini',
    isEmbedding: true,
    basePath: '/v1beta',
    notApplicable: WITHOUT_EVENTS,
    otherwise: { ...ALL_OR_NOTHING, ...NEVER_REPORTED },
  },
]

export function nameOf({ name, kind }: Adapter): string {
  return name ?? kind
}

export function expectedOf(adapter: Adapter, fault: string): Expected {
  const expected = adapter.otherwise[fault] ?? EXPECTED[fault]
  if (!expected) throw new Error(`nothing is expected of ${fault}`)
  return expected
}

export function reasonAgainst(adapter: Adapter, fault: string): string | undefined {
  const entry = Object.entries(adapter.notApplicable).find(([id]) => fault === id || fault.startsWith(`${id}-`))
  return entry?.[1]
}
