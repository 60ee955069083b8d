import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { billFor, CALL_OUTCOMES, type CallOutcome } from '../src/rules/billing/charging.ts'
import { openAICompatibleSettings } from '../src/providers/openai/openai-settings.ts'
import { KNOWN_FIELDS, parseChatRequest } from '../src/rules/calls/chat-request.ts'
import { parseResponsesRequest, RESPONSES_FIELDS } from '../src/rules/calls/responses/responses-request.ts'
import { REASONING_TOKENS } from '../src/rules/calls/reasoning.ts'
import { KNOWN_EMBEDDING_FIELDS } from '../src/rules/calls/embeddings-request.ts'
import {
  EMBEDDING_INPUTS_MAX,
  EMBEDDING_TOKENS_MAX,
  EMBEDDINGS_JSON_LIMITS,
  VECTOR_DIMENSIONS_MAX,
} from '../src/rules/limits.ts'
import { EMBEDDING_FIELDS, ROUTE_FIELDS } from '../src/rules/calls/route-fields.ts'
import { REFUSAL_EXPLANATIONS } from '../src/rules/refused-requests.ts'
import { ERRORS, type ParleyError } from '../src/rules/errors.ts'
import { CAMPAIGNS_MAX, FEEDS_MAX, UPLOAD_BYTES_MAX } from '../src/rules/offers/advertiser-limits.ts'
import { VERDICT_LABELS } from '../src/rules/clicks/verdict.ts'
import { pageOf } from './fields/docs.ts'
import { TABLE } from './fields/table.ts'
import { PERIODS_MS } from './support/worker-world.ts'
import { ANOMALIES } from '../src/rules/billing/reported-usage.ts'

function read(path: string): Promise<string> {
  return readFile(new URL(`../${path}`, import.meta.url), 'utf8')
}

/** The cells of each row of a page's tables whose first cell is `code`. */
function rowsOf(page: string): string[][] {
  return page
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replace(/^`(.*)`$/, '$1')),
    )
}

test('docs/errors.md lists exactly the errors of the catalogue, with their statuses', async () => {
  const documented = rowsOf(await read('docs/errors.md')).map(([code, status]) => [code, Number(status)])
  const catalogue = Object.entries(ERRORS).map(([code, { status }]) => [code, status])
  assert.deepEqual(documented, catalogue)
})

test('the console explains refused requests in the words of docs/errors.md, and every code that there can be', async () => {
  const rows = rowsOf(await read('docs/errors.md'))
  // Errors that a known caller never gets before a model is asked: not HTTP, the console's own, and later failures.
  const others = /^(?:malformed|headers_too_large|read_too_slowly)$|^console:/
  const said = rows.filter(([code = '', status, what = '']) => {
    return Number(status) < 500 && !others.test(code) && !others.test(what)
  })
  const plain = (text = '') => text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll("'", '’')
  assert.deepEqual(
    said.map(([code, , what, advice]) => [code, { what: plain(what), advice: plain(advice) }]),
    Object.entries(REFUSAL_EXPLANATIONS),
  )
})

test('docs/clicks.md lists the verdicts with the words that publishers and advertisers see', async () => {
  const rows = rowsOf(sectionOf(await read('docs/clicks.md'), '## Verdicts'))
  const curly = (text = '') => text.replaceAll("'", '’')
  assert.deepEqual(
    rows.map(([verdict, label, explanation]) => [verdict, { label: curly(label), explanation: curly(explanation) }]),
    Object.entries(VERDICT_LABELS),
  )
})

test('docs/advertisers.md says how much an advertiser may have and send', async () => {
  const text = await read('docs/advertisers.md')
  const megabytes = UPLOAD_BYTES_MAX / 1024 ** 2
  for (const limit of [`${CAMPAIGNS_MAX} campaigns`, `${FEEDS_MAX} feeds`, `up to ${megabytes} MB`])
    assert.ok(text.includes(limit), limit)
})

test('docs/fields.md is what the table of `npm run fields` says: write it with `npm run fields -- --docs`', async () => {
  assert.equal(await read('docs/fields.md'), pageOf(TABLE))
})

test('docs/billing.md says of every outcome whether it costs something, as the rules do', async () => {
  const price = { version: 1n, input: 1_000_000n, cachedInput: 0n, cacheWrite: 0n, output: 1_000_000n, reasoning: 0n }
  const usage = { input: 10, cachedInput: 0, cacheWrite: 0, output: 10, reasoning: 0 }
  const rows = rowsOf(await read('docs/billing.md')).filter(([name]) => name !== 'reasoning_effort')
  assert.deepEqual(
    rows.map(([outcome]) => outcome),
    [...CALL_OUTCOMES],
  )
  for (const [outcome, , cost] of rows) {
    const ending = { outcome: outcome as CallOutcome, used: { usage, source: 'estimated' as const }, held: 100n }
    const { charge } = billFor(ending, price)
    assert.equal(charge === 0n, cost!.startsWith('nothing'), outcome)
  }
})

test('docs/billing.md says how many tokens each effort is, as the rules do, and other pages leave it to it', async () => {
  const section = sectionOf(await read('docs/billing.md'), '## Models that reason')
  const [, efforts, tokens] = /^\| `reasoning_effort` \|(.*)\|\n.*\n\| tokens \|(.*)\|$/m.exec(section) ?? []
  const cellsOf = (row = '') => row.split('|').map((cell) => cell.trim())
  const names = cellsOf(efforts).map((cell) => cell.replaceAll('`', ''))
  const numbers = cellsOf(tokens).map((cell) => Number(cell.replaceAll(',', '')))
  assert.deepEqual(Object.fromEntries(names.map((name, n) => [name, numbers[n]])), REASONING_TOKENS)
  const high = REASONING_TOKENS.high.toLocaleString('en')
  const pages = readdirSync(new URL('../docs', import.meta.url)).filter((name) => name.endsWith('.md'))
  const texts = await Promise.all(pages.map((name) => read(`docs/${name}`)))
  // docs/fields.md is made from what is tried.
  assert.deepEqual(
    pages.filter((_, n) => texts[n]?.includes(high)),
    ['billing.md', 'fields.md'],
  )
})

test('docs/operations.md explains every kind of anomaly', async () => {
  const [, section = ''] = (await read('docs/operations.md')).split('## Usage that cannot be right')
  const [table = ''] = section.split('\n## ')
  assert.deepEqual(
    rowsOf(table).map(([kind]) => kind),
    [...ANOMALIES],
  )
})

/** Between a heading and the next. */
function sectionOf(page: string, heading: string): string {
  const [, section = ''] = page.split(`\n${heading}\n`)
  return section.split(/\n##+ /)[0] ?? ''
}

test('docs/operations.md says of every table what bounds it: decide that for a new one, too', async () => {
  const [, schema = ''] = (await read('src/store/schema.gen.ts')).split('export interface Database {')
  const names = [...schema.matchAll(/^ {2}(\w+):/gm)].map(([, name]) => String(name))
  const views = new Set(['advertiser_people', 'journal', 'limit_states', 'members'])
  const rows = rowsOf(sectionOf(await read('docs/operations.md'), '### What bounds each table'))
  assert.deepEqual(rows.map(([name]) => String(name)).toSorted(), names.filter((name) => !views.has(name)).toSorted())
  for (const [name, bound] of rows) assert.ok(bound, name)
})

test('docs/operations.md says of every job what its failure means', async () => {
  const rows = rowsOf(sectionOf(await read('docs/operations.md'), '## Background jobs'))
  const ofRole = (role: string) => rows.filter(([, of]) => of?.includes(role)).map(([job]) => String(job))
  assert.deepEqual(ofRole('worker').toSorted(), Object.keys(PERIODS_MS).toSorted())
  for (const role of ['gateway', 'matcher']) {
    const files = readdirSync(new URL(`../src/${role}`, import.meta.url), { recursive: true, encoding: 'utf8' })
    const sources = await Promise.all(
      files.filter((name) => /(?<!test)\.ts$/.test(name)).map((name) => read(`src/${role}/${name}`)),
    )
    const started = [...sources.join('\n').matchAll(/(?:repeat|writeNowAndThen)\([^\n]*, '([a-z ]+)'/g)]
    assert.deepEqual(ofRole(role).toSorted(), started.map(([, job]) => String(job)).toSorted(), role)
  }
})

test('docs/operations.md explains every setting of providers that speak the OpenAI format, with its default', async () => {
  const rows = rowsOf(sectionOf(await read('docs/operations.md'), '## Providers'))
  const defaults: Record<string, unknown> = openAICompatibleSettings.parse({})
  assert.deepEqual(rows.map(([setting]) => String(setting)).toSorted(), Object.keys(defaults).toSorted())
  for (const [setting = '', documented = ''] of rows) {
    const value = defaults[setting]
    assert.equal(documented, typeof value === 'string' ? value : JSON.stringify(value), setting)
  }
})

test('docs/operations.md explains every name that --unsupported takes', async () => {
  const section = sectionOf(await read('docs/operations.md'), '### Fields that a route cannot honour')
  const names = section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...String(line.split('|')[1]).matchAll(/`(\w+)`/g)].map(([, name]) => String(name)))
  assert.deepEqual(names.toSorted(), [...ROUTE_FIELDS, ...EMBEDDING_FIELDS].toSorted())
})

/** One request for each row of docs/api.md's table of refusals. */
const REFUSED_REQUESTS: Record<string, unknown>[] = [
  { n: 2 },
  { tools: [{ type: 'web_search' }] },
  { service_tier: 'flex' },
  { modalities: ['text', 'audio'] },
  { audio: { voice: 'x' } },
  { store: true },
  { web_search_options: {} },
  { functions: [] },
  { function_call: 'auto' },
  { top_logprobs: 2 },
  { max_tokens: 1, max_completion_tokens: 2 },
]

test('docs/api.md quotes the sentences of requests that are always refused, and names every field', async () => {
  const section = sectionOf(await read('docs/api.md'), '## POST /v1/chat/completions')
  for (const fields of REFUSED_REQUESTS) {
    const request = { model: 'm', messages: [{ role: 'user', content: 'Hello' }], ...fields }
    assert.throws(
      () => parseChatRequest(request),
      ({ status, message }: ParleyError) => status === 422 && section.includes(message),
      JSON.stringify(fields),
    )
  }
  for (const field of KNOWN_FIELDS) assert.match(section, new RegExp(`\`${field}\\b`), field)
})

test('docs/api.md names every field of a request for embeddings, and its limits', async () => {
  const section = sectionOf(await read('docs/api.md'), '## POST /v1/embeddings')
  for (const field of KNOWN_EMBEDDING_FIELDS) assert.match(section, new RegExp(`\`${field}\\b`), field)
  for (const limit of [
    EMBEDDING_INPUTS_MAX,
    EMBEDDING_TOKENS_MAX,
    EMBEDDINGS_JSON_LIMITS.itemsMax,
    VECTOR_DIMENSIONS_MAX,
  ])
    assert.ok(section.includes(limit.toLocaleString('en')), String(limit))
})

/** One request for each row of the table of refusals for responses. */
const REFUSED_RESPONSES: Record<string, unknown>[] = [
  { store: true },
  { previous_response_id: 'resp_1' },
  { conversation: 'conv_1' },
  { input: [{ type: 'item_reference', id: 'msg_1' }] },
  { background: true },
  { prompt: { id: 'pmpt_1' } },
  { tools: [{ type: 'web_search' }] },
  { max_tool_calls: 1 },
  { truncation: 'auto' },
  { context_management: [] },
  { moderation: {} },
]

test('docs/api.md quotes what responses refuse, and names every field of theirs', async () => {
  const section = sectionOf(await read('docs/api.md'), '## POST /v1/responses')
  for (const fields of REFUSED_RESPONSES)
    assert.throws(
      () => parseResponsesRequest({ model: 'm', input: 'Hello', ...fields }),
      ({ status, message }: ParleyError) => status === 422 && section.includes(message),
      JSON.stringify(fields),
    )
  for (const field of RESPONSES_FIELDS) assert.match(section, new RegExp(`\`${field}\\b`), field)
})

/** The folders that a drawing names, by indentation: `src/`, then `src/gateway/`, then `src/gateway/upstreams/`. */
function drawnFolders(drawing: string): string[] {
  const path: string[] = []
  const lines = drawing.split('\n').filter((line) => line.trim() !== '')
  return lines.flatMap((line) => {
    const depth = line.search(/\S/) / 2
    const names = /^ *((?:[\w.-]+(?:\/|\.ts) *)+)/.exec(line)?.[1]?.trim().split(/\s+/) ?? []
    const folders = names.filter((name) => name.endsWith('/'))
    path.length = depth
    path[depth] = folders[0] ?? ''
    return folders.map((name) => [...path.slice(0, depth), name].join(''))
  })
}

function foldersIn(folder: string): string[] {
  const entries = readdirSync(new URL(`../${folder}`, import.meta.url), { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${folder}${name}/`)
}

test('the drawing in docs/architecture.md has every folder that there is, and no other', async () => {
  const [, drawing = ''] = (await read('docs/architecture.md')).split('```\n')
  const ignored = new Set((await read('.gitignore')).split('\n').map((line) => line.replace(/^\/|\/$/g, '')))
  const top = foldersIn('').filter((name) => !name.startsWith('.') && !ignored.has(name.slice(0, -1)))
  const layers = foldersIn('src/')
  const nouns = layers.flatMap((layer) => foldersIn(layer))
  assert.deepEqual(drawnFolders(drawing).toSorted(), [...top, ...layers, ...nouns].toSorted())
  assert.deepEqual(drawnFolders('src/\n  main.ts\n  a/  what it is\n    b/  c/\nd/'), [
    'src/',
    'src/a/',
    'src/a/b/',
    'src/a/c/',
    'd/',
  ])
})
