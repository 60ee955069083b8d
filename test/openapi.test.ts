import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { createServer } from '../src/gateway/server.ts'
import type { Gateway } from '../src/gateway/gateway.ts'
import { KNOWN_FIELDS, parseChatRequest } from '../src/rules/calls/chat-request.ts'
import { KNOWN_EMBEDDING_FIELDS, parseEmbeddingsRequest } from '../src/rules/calls/embeddings-request.ts'
import { parseResponsesRequest, RESPONSES_FIELDS } from '../src/rules/calls/responses/responses-request.ts'
import { parseSessionRequest, sessionBody } from '../src/rules/calls/session-request.ts'
import { conversionBody, parseConversionRequest } from '../src/rules/clicks/conversions.ts'
import { ROUTES } from '../src/rules/endpoints.ts'
import { ERRORS, ParleyError, type ErrorCode } from '../src/rules/errors.ts'
import { EVENT_EXAMPLES } from '../src/rules/openapi/examples.ts'
import { PARAMETERS } from '../src/rules/openapi/headers.ts'
import { documentedPathOf } from '../src/rules/openapi/operations.ts'
import { DOCUMENT, operationsOf, wrongBy } from './support/openapi.ts'

/** The description of the API is what the API is: its paths, fields, errors and headers, no more and no less. */

const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), 'utf8')
const documented = operationsOf(DOCUMENT)

test('the router, the description and the table in docs/api.md have the same endpoints', async () => {
  const routes: string[] = []
  const app = createServer({ log: { warn() {} } } as unknown as Gateway)
  await app.ready()
  let above = ''
  for (const line of app.printRoutes({ commonPrefix: false }).split('\n')) {
    const [, path = '', methods = ''] = /[├└]── (\S+) \(([A-Z, ]+)\)/.exec(line) ?? []
    if (path === '') continue
    // A route that continues another path is printed below it.
    const isBelow = line.search(/[├└]/) > 0
    const whole = path === '*' ? `${above}/*` : isBelow ? above + path : path
    for (const method of methods.split(', ')) routes.push(`${method} ${whole}`)
    if (!isBelow) above = path
  }
  await app.close()
  const ofOthers = /^(?:HEAD|OPTIONS) | \/(?:r|w)\/| \/openapi\.json$/
  const served = routes.filter((route) => !ofOthers.test(route)).map(documentedPathOf)
  const inTable = [...(await read('docs/api.md')).matchAll(/^\| \[`((?:GET|POST) \/v1\/[^`]+)`\]/gm)].map(([, route]) =>
    String(route),
  )
  const described = documented.map(([key]) => key).toSorted()
  assert.deepEqual(served.toSorted(), described)
  assert.deepEqual(inTable.toSorted(), described)
  const known = Object.entries(ROUTES).flatMap(([methods, paths]) =>
    paths.map((path) => `${methods.split(',')[0]} ${path}`),
  )
  assert.deepEqual(routes.filter((route) => !/^(?:HEAD|OPTIONS) /.test(route)).toSorted(), known.toSorted())
})

const CHECKS: Record<string, { fields: Iterable<string>; least: object; parse(body: unknown): unknown }> = {
  ChatCompletionRequest: {
    fields: KNOWN_FIELDS,
    least: { model: 'm', messages: [{ role: 'user', content: 'Hello' }] },
    parse: parseChatRequest,
  },
  ResponseRequest: { fields: RESPONSES_FIELDS, least: { model: 'm', input: 'Hello' }, parse: parseResponsesRequest },
  EmbeddingsRequest: {
    fields: KNOWN_EMBEDDING_FIELDS,
    least: { model: 'm', input: 'Hello' },
    parse: parseEmbeddingsRequest,
  },
  ConversionRequest: {
    fields: Object.keys(conversionBody.shape),
    least: {
      id: 'order-1',
      event_type: 'purchase',
      timestamp: 1_763_456_789,
      value: 1,
      currency_code: 'EUR',
      user_data: { click_id: '019a8f0c-2b7d-7c10-a5e3-f4b6c8d9e0f1' },
    },
    parse: parseConversionRequest,
  },
  SessionRequest: { fields: Object.keys(sessionBody.shape), least: {}, parse: parseSessionRequest },
}

function propertiesOf(name: string): Record<string, { description?: string }> {
  return (DOCUMENT.components.schemas[name]?.properties ?? {}) as Record<string, { description?: string }>
}

test('every field that is checked is documented in a sentence, and no other', () => {
  for (const [name, { fields }] of Object.entries(CHECKS)) {
    assert.deepEqual(Object.keys(propertiesOf(name)).toSorted(), [...fields].toSorted(), name)
    for (const [field, { description = '' }] of Object.entries(propertiesOf(name)))
      assert.match(description, /\S\.$/, `${name}.${field}`)
  }
})

/** Values of every kind, right for some fields and wrong for the others. */
const TRIED: readonly unknown[] = [
  null, true, false, 0, 1, 2, -1, 0.5, 1.5, 21, 3_000_000_000, 2 ** 53,
  '', 'x', 'auto', 'none', 'required', 'high', 'disabled', 'float', 'default', '250000000', '-5',
  [], ['x'], [''], ['text'], [1, 2], [[1, 2]], [[]], [true], ['message.output_text.logprobs'], ['https://example.com'],
  {}, { a: 1 }, { a: 'b' }, { effort: 'low' }, { effort: 'x' }, { verbosity: 'low' }, { include_usage: true },
  { include_usage: 1 }, { type: 'text' }, { type: 'json_object' }, { type: 'x' }, { type: 'content', content: 'x' },
  { format: { type: 'text' } }, { summary: 'auto' }, { summary: 'x' },
  { type: 'function', function: { name: 'f' } }, { type: 'function', name: 'f' },
  [{ type: 'function', function: { name: 'f' } }], [{ type: 'function', name: 'f' }], [{ type: 'web_search' }],
  [{ role: 'user', content: 'x' }], [{ role: 'user', content: [] }], [{ role: 'nobody', content: 'x' }], [{ role: 'user' }],
  [{ role: 'user', content: [{ type: 'text', text: 'x' }] }], [{ role: 'user', content: [{ type: 'input_text', text: 'x' }] }],
  [{ role: 'system', content: [{ type: 'image_url', image_url: { url: 'x' } }] }], [{ role: 'assistant', content: 'x' }],
  [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }], [{ type: 'item_reference', id: 'x' }],
  [{ type: 'function_call_output', call_id: 'c', output: 'x' }], [{ type: 'function_call_output', output: 'x' }],
] // prettier-ignore

/** Where the check says more than a schema can: fields that only make sense beside another. */
const BESIDE: Record<string, object> = {
  'ChatCompletionRequest.top_logprobs': { logprobs: true },
  'ResponseRequest.top_logprobs': { include: ['message.output_text.logprobs'] },
}
/** Read elsewhere: what is wrong with them is left out, and never a reason to refuse. */
const NEVER_REFUSED = new Set(['user', 'safety_identifier', 'metadata'])

function refusalOf(name: string, body: unknown): string | undefined {
  try {
    CHECKS[name]?.parse(body)
    return undefined
  } catch (error) {
    if (error instanceof ParleyError) return error.message
    throw error
  }
}

test('the schemas and the checks take and refuse the same values of every field', () => {
  let taken = 0
  const differences: string[] = []
  for (const [name, { fields, least }] of Object.entries(CHECKS)) {
    const required = new Set(Object.keys(least))
    for (const field of fields) {
      for (const value of TRIED) {
        // "Not given", for all but the specification's own fields.
        if (value === null || (NEVER_REFUSED.has(field) && wrongBy(name, { ...least, [field]: value }).length > 0))
          continue
        const body = { ...least, ...BESIDE[`${name}.${field}`], [field]: value }
        const [refusal, wrong] = [refusalOf(name, body), wrongBy(name, body)]
        taken += refusal === undefined ? 1 : 0
        if ((refusal === undefined) !== (wrong.length === 0))
          differences.push(
            `${name}.${field} ${JSON.stringify(value)}: ${refusal ?? 'taken'} / ${wrong.join() || 'valid'}`,
          )
      }
      const { [field as never]: _, ...rest } = least as Record<string, unknown>
      if (required.has(field)) assert.ok(wrongBy(name, rest).length > 0 && refusalOf(name, rest), `${name}.${field}`)
    }
  }
  assert.deepEqual(differences, [])
  assert.ok(taken > 200, `${taken} were taken`)
})

test('examples of requests and answers are what their schemas and checks say', () => {
  let count = 0
  for (const [key, { requestBody, responses }] of documented) {
    for (const { value } of Object.values(requestBody?.content['application/json'].examples ?? {})) {
      const name = nameIn(requestBody?.content['application/json'])
      assert.deepEqual([wrongBy(name, value), refusalOf(name, value)], [[], undefined], key)
      count++
    }
    const json = responses['200']?.content['application/json']
    if (json?.example === undefined) continue
    assert.deepEqual(wrongBy(nameIn(json), json.example), [], key)
    count++
  }
  assert.ok(count >= 15, `${count} examples`)
  for (const line of EVENT_EXAMPLES.ChatCompletion.split('\n').filter((each) => each.startsWith('data: {')))
    assert.deepEqual(wrongBy('ChatCompletionChunk', JSON.parse(line.slice('data: '.length))), [])
})

function nameIn(content: unknown): string {
  return String((content as { schema: { $ref: string } }).schema.$ref.split('/').at(-1))
}

test('every error that the gateway gives is described with its status, where docs/errors.md explains it', async () => {
  const rows = (await read('docs/errors.md')).split('\n').filter((line) => line.startsWith('| `'))
  const ofGateway = rows.filter((row) => !/\| console: /.test(row)).map((row) => String(/`(\w+)`/.exec(row)?.[1]))
  assert.deepEqual(Object.keys(DOCUMENT['x-errors']), ofGateway)
  for (const [code, { status, docs }] of Object.entries(DOCUMENT['x-errors'])) {
    assert.equal(status, ERRORS[code as ErrorCode].status)
    assert.ok(docs.endsWith(`/docs/errors#${code}`))
  }
  const answered = new Set<string>()
  for (const [, { responses }] of documented)
    for (const [status, { description }] of Object.entries(responses).filter(([each]) => each !== '200'))
      for (const code of description.split(', ')) {
        assert.equal(String(ERRORS[code as ErrorCode].status), status, code)
        answered.add(code)
      }
  // These come before there is an endpoint to answer with them.
  const before = ['not_found', 'method_not_allowed', 'malformed', 'headers_too_large']
  assert.deepEqual([...answered, ...before].toSorted(), ofGateway.toSorted())
})

test('the headers that pages may send and read are those that are described', async () => {
  const cors = await read('src/gateway/sessions/cors.ts')
  const [, sent = ''] = /const HEADERS =\s+'([^']+)'/.exec(cors) ?? []
  const [, exposed = ''] = /const EXPOSED =\s+'([^']+)'/.exec(cors) ?? []
  const keys = ['authorization', 'content-type', 'x-publishable-key', 'x-secret-key']
  const parameters = Object.values(PARAMETERS).map(({ name }) => name.toLowerCase())
  assert.deepEqual(sent.split(', ').toSorted(), [...keys, ...parameters].toSorted())
  assert.deepEqual(exposed.split(', ').toSorted(), Object.keys(DOCUMENT.components.headers).toSorted())
})

test('it is small, and says nothing of how it is made', () => {
  const text = JSON.stringify(DOCUMENT)
  assert.ok(text.length < 100_000, `${text.length} characters`)
  assert.doesNotMatch(text, /\$schema|"undefined"|\bzod\b/)
})
