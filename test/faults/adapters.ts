import { EXPECTED, broken, refused, whole, type Expected } from './expected.ts'

/** The first event already reports usage, so that a number which is none breaks the stream before the answer begins. */
const USAGE_COMES_FIRST = { 'U19-nan': refused('bad_event') }

/** A wire format, as one row of data: what the matrix needs to know to try every fault on it. */
export interface Adapter {
  /** The provider's kind in the database. */
  kind: string
  /** What follows the host in the base URL of the simulator. */
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

export function expectedOf(adapter: Adapter, fault: string): Expected {
  const expected = adapter.otherwise[fault] ?? EXPECTED[fault]
  if (!expected) throw new Error(`nothing is expected of ${fault}`)
  return expected
}

export function reasonAgainst(adapter: Adapter, fault: string): string | undefined {
  const entry = Object.entries(adapter.notApplicable).find(([id]) => fault === id || fault.startsWith(`${id}-`))
  return entry?.[1]
}
