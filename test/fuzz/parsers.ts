/** Functions that take whatever a caller or a provider wrote, by fast-check: it shrinks what fails by itself. */
import * as fc from 'fast-check'
import { JsonError, parseJson } from '../../src/platform/json.ts'
import { createEventSplitter } from '../../src/providers/exchange/event-splitter.ts'
import { UpstreamError } from '../../src/providers/provider.ts'
import { createJsonSplitter } from '../../src/recommend/feeds/json-splitter.ts'
import { FeedError } from '../../src/rules/offers/feed-error.ts'
import { parseChatRequest } from '../../src/rules/calls/chat-request.ts'
import { parseEmbeddingsRequest } from '../../src/rules/calls/embeddings-request.ts'
import { metadataOf } from '../../src/rules/calls/metadata.ts'
import { parseResponsesRequest } from '../../src/rules/calls/responses/responses-request.ts'
import { parseSessionRequest } from '../../src/rules/calls/session-request.ts'
import { ParleyError } from '../../src/rules/errors.ts'
import { JSON_LIMITS } from '../../src/rules/limits.ts'
import { formatAmount, formatCredits, parseCredits } from '../../src/rules/money.ts'
import { parsePrice } from '../../src/rules/offers/merchant-price.ts'
import {
  isPublishableKey,
  isSecretKey,
  isSessionSecret,
  looksLikeSessionSecret,
} from '../../src/rules/projects/keys.ts'
import { textOf, type Part } from './part.ts'

/** Runs of one property with one seed; the two together are one input. */
const RUNS = 50

const anyJson = fc.jsonValue({ maxDepth: 5, noUnicodeString: false })
const text = fc.string({ unit: 'binary', maxLength: 200 })
const NAMES = [
  'model',
  'messages',
  'role',
  'content',
  'type',
  'text',
  'tools',
  'function',
  'name',
  'input',
  'stream',
  'stop',
]
  .concat([
    'image_url',
    'url',
    'tool_calls',
    'id',
    'arguments',
    'response_format',
    'seconds',
    'money',
    'origins',
    'models',
    '__proto__',
  ])
  .concat([
    'metadata',
    'reasoning',
    'dimensions',
    'call_id',
    'output',
    'summary',
    'file',
    'file_data',
    'input_audio',
    'cache_control',
  ])
const { request } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    anyJson,
    fc.constantFrom('user', 'system', 'assistant', 'tool', 'function', 'text', 'input_text'),
    tie('list'),
    tie('request'),
  ),
  list: fc.array(tie('value'), { maxLength: 4 }),
  request: fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 6, noNullPrototype: true }),
}))

type Property = [name: string, run: fc.IRawProperty<unknown>]

function throwsOnly(kinds: readonly (new (...some: never[]) => Error)[], work: () => unknown): boolean {
  try {
    work()
  } catch (error) {
    if (!kinds.some((kind) => error instanceof kind)) throw error
    if ((error as Error).message === '') throw new Error('an error without a word', { cause: error })
  }
  return true
}

const REQUESTS: readonly Property[] = [
  parseChatRequest,
  parseResponsesRequest,
  parseEmbeddingsRequest,
  parseSessionRequest,
].map((parse): Property => [
  parse.name,
  fc.property(fc.oneof(request, anyJson), (value) =>
    throwsOnly([ParleyError], () => parse(value)),
  ) as fc.IRawProperty<unknown>,
])

const PROPERTIES: readonly Property[] = [
  ...REQUESTS,
  ['metadataOf', fc.property(request, (value) => Array.isArray(metadataOf(value)))],
  [
    'parseJson',
    fc.property(
      fc.oneof(
        text,
        anyJson.map((value) => JSON.stringify(value)),
      ),
      (json) => throwsOnly([JsonError], () => parseJson(Buffer.from(json), JSON_LIMITS)),
    ),
  ],
  [
    'parseJson is JSON.parse',
    fc.property(anyJson, (value) => {
      const written = JSON.stringify(value)
      return (
        JSON.stringify(parseJson(Buffer.from(written), { depthMax: 100, keysMax: 1e6, itemsMax: 1e6 })) ===
        JSON.stringify(JSON.parse(written))
      )
    }),
  ],
  [
    'createEventSplitter',
    fc.property(
      fc.array(fc.oneof(text, fc.constantFrom('data: {}\n\n', 'data:', '\n', '\r', '\r\n', ': x\n', 'event: a\n'))),
      (parts) => {
        const whole = Buffer.from(parts.join(''))
        const cut = parts.map((part) => Buffer.from(part))
        // Characters that are cut into bytes of their own are another matter: `provider` cuts there.
        return (
          JSON.stringify(readEvents([whole])) === JSON.stringify(readEvents(cut.length === 0 ? [Buffer.alloc(0)] : cut))
        )
      },
    ),
  ],
  [
    'createJsonSplitter',
    fc.property(
      fc.oneof(
        text,
        anyJson.map((value) => JSON.stringify(value)),
      ),
      fc.nat(),
      (json, place) => {
        const at = json.length === 0 ? 0 : place % json.length
        return JSON.stringify(splitOf([json])) === JSON.stringify(splitOf([json.slice(0, at), json.slice(at)]))
      },
    ),
  ],
  [
    'keys',
    fc.property(
      fc.oneof(
        text,
        text.map((end) => `ply_sk_00${end}`),
        text.map((end) => `ply_es_00${end}`),
      ),
      (key) => {
        return [isPublishableKey, isSecretKey, isSessionSecret, looksLikeSessionSecret].every(
          (is) => typeof is(key) === 'boolean',
        )
      },
    ),
  ],
  [
    'parseCredits',
    fc.property(fc.oneof(text, fc.stringMatching(/^-?\d{0,25}\.?\d{0,12}$/)), (amount) => creditsAreExact(amount)),
  ],
  [
    'formatCredits',
    fc.property(
      fc.bigInt({ min: 0n, max: 10n ** 18n - 1n }),
      (nanos) => parseCredits(formatCredits(nanos)) === nanos && formatAmount(nanos) !== '',
    ),
  ],
  [
    'parsePrice',
    fc.property(fc.oneof(text, fc.stringMatching(/^[\d.,' ]{0,20}(EUR|USD|€)?$/)), (price) =>
      ['object', 'string'].includes(typeof parsePrice(price)),
    ),
  ],
]

function creditsAreExact(amount: string): boolean {
  let nanos: bigint
  try {
    nanos = parseCredits(amount)
  } catch (error) {
    return error instanceof Error && error.message !== ''
  }
  return parseCredits(formatCredits(nanos)) === nanos
}

function readEvents(parts: readonly Buffer[]): string[] {
  const splitter = createEventSplitter()
  const events: string[] = []
  try {
    for (const part of parts) splitter.split(part, events)
    splitter.splitRest(events)
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    events.push(`failed ${error.kind}`)
  }
  return events
}

function splitOf(parts: readonly string[]): unknown[] {
  const splitter = createJsonSplitter()
  const found: unknown[] = []
  try {
    for (const part of parts) found.push(...splitter.split(part))
    splitter.expectComplete()
  } catch (error) {
    if (!(error instanceof FeedError)) throw error
    found.push('cut off')
  }
  return found
}

export function createParsersPart(): Promise<Part> {
  return Promise.resolve({
    atOnce: 1,
    async try(random, n) {
      const [name, property] = PROPERTIES[n % PROPERTIES.length]!
      const seed = random.int(2 ** 31)
      const result = await fc.check(property, { seed, numRuns: RUNS })
      const failure = result.failed ? result : undefined
      const why = failure?.errorInstance === undefined ? 'it is false' : `it threw ${textOf(failure.errorInstance)}`
      return {
        ending: name,
        complaint: failure && `${name}: ${why}`,
        shown: () => `${fc.stringify(failure?.counterexample).slice(0, 2_000)} (shrunk ${failure?.numShrinks} times)`,
      }
    },
    complaints: () => Promise.resolve([]),
    close: () => Promise.resolve(),
  })
}
