import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { FAULT_NAMES } from '../../simulator/faults.ts'
import type { Anomaly } from '../../src/rules/billing/reported-usage.ts'
import type { NewDeployment } from '../../src/store/catalogue/models.ts'
import { ADAPTERS } from '../faults/adapters.ts'
import {
  addModel,
  addProject,
  addProvider,
  complete,
  createWorld,
  eventsOf,
  until,
  type TestProject,
  type World,
} from '../support/world.ts'

/**
 * Answers that real providers were seen to send, through a whole gateway: what the caller gets, what is charged for it, and
 * who is blamed. Each is asked for as JSON and as a stream.
 */

interface Case {
  adapter: string
  /** Beside the ten tokens of the reply. */
  script: string
  deployment?: Partial<NewDeployment>
  /** The kind of error that each attempt failed with. */
  attempts?: (string | undefined)[]
  anomalies?: Anomaly[]
  /** Undefined: ten words, and `stop`. */
  answer?: Partial<Answer>
  /** The refusal when no provider gave an answer. */
  refusal?: { status: number; retryAfter?: string }
  oddEnding?: string
}

interface Answer {
  words: number
  reasoning: string
  calls: { name: string; arguments: string }[]
  finish: string
}

const [openai, gemini, vertex] = ['openai-compatible', 'gemini', 'vertex'] as const
const TOOLS = [{ type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} } } }]
const NOW = { name: 'now', arguments: '{}' }
const TWO_CALLS = { words: 0, calls: [NOW, NOW], finish: 'tool_calls' }
const REPEATED = ['model_failed', undefined]
const IN_VAIN = ['model_failed', 'model_failed']
const NOBODY_ANSWERED = { attempts: IN_VAIN, refusal: { status: 502 } }
const UNDECLARED = {
  answer: { words: 0, calls: [{ name: 'undeclared', arguments: '{}' }], finish: 'tool_calls' },
  attempts: IN_VAIN,
  oddEnding: 'UNEXPECTED_TOOL_CALL',
}
const MALFORMED = { answer: { words: 0 }, attempts: IN_VAIN, oddEnding: 'MALFORMED_FUNCTION_CALL' }
/** Silence before the first word is not a pause within the answer, and has its own timer. */
const AFTER_FILTERS = 'fault=U20-filterfirst gap=1000 chunk=100'

const CASES: Record<string, Case> = {
  'text and thoughts in lists of parts': {
    adapter: openai,
    script: 'fault=U20-parts thoughts=Let%20me%20see.',
    answer: { reasoning: 'Let me see.' },
  },
  'no end marker': { adapter: openai, script: 'fault=U14-nodone' },
  'no reason to finish': { adapter: openai, script: 'fault=U20-nofinish', oddEnding: 'missing' },
  'calls, and no reason to finish': {
    adapter: openai,
    script: 'fault=U20-nofinish tool=now calls=2',
    answer: TWO_CALLS,
    oddEnding: 'missing',
  },
  'more cached than the prompt has': { adapter: openai, script: 'cached=5000', anomalies: ['cache_too_large'] },
  'more cached than the prompt has, by Google': {
    adapter: gemini,
    script: 'cached=5000',
    anomalies: ['cache_too_large'],
  },
  'most of the prompt both cached and written': {
    adapter: openai,
    script: 'cached=18 written=18',
    anomalies: ['cache_too_large'],
  },
  'a report without the prompt': {
    adapter: gemini,
    script: 'fault=U21-noprompt reasoning=7',
    anomalies: ['not_a_count'],
  },
  'calls without arguments': {
    adapter: openai,
    script: 'fault=U20-noarguments tool=now calls=2',
    answer: TWO_CALLS,
  },
  'calls without ids': { adapter: openai, script: 'fault=U20-noids tool=now calls=2', answer: TWO_CALLS },
  'thoughts that only the total tells': { adapter: openai, script: 'fault=U20-total reasoning=30' },
  'a call of what nobody declared, once': {
    adapter: vertex,
    script: 'fault=U21-undeclared times=1 reasoning=7',
    attempts: REPEATED,
  },
  'a call of what nobody declared, again': {
    adapter: vertex,
    script: 'fault=U21-undeclared reasoning=7',
    ...UNDECLARED,
  },
  'a malformed call, once': { adapter: gemini, script: 'fault=U21-malformed times=1', attempts: REPEATED },
  'a malformed call, again': { adapter: gemini, script: 'fault=U21-malformed reasoning=7', ...MALFORMED },
  'a malformed call after some words': {
    adapter: gemini,
    script: 'finish=MALFORMED_FUNCTION_CALL',
    oddEnding: 'MALFORMED_FUNCTION_CALL',
  },
  'a call that its provider cannot use, once': {
    adapter: openai,
    script: 'fault=U20-badcall times=1',
    attempts: REPEATED,
  },
  'a call that its provider cannot use, again': { adapter: openai, script: 'fault=U20-badcall', ...NOBODY_ANSWERED },
  'the same as an event, once': { adapter: openai, script: 'fault=U20-badcall-event times=1', attempts: REPEATED },
  'the same as an event, again': { adapter: openai, script: 'fault=U20-badcall-event', ...NOBODY_ANSWERED },
  'a wait that is told in the body': {
    adapter: gemini,
    script: 'fault=U10-body',
    attempts: ['rate_limited'],
    refusal: { status: 503, retryAfter: '2' },
  },
  'a last event without its blank line': { adapter: openai, script: 'fault=U7-noblank' },
  'a last event without its blank line, by Google': { adapter: gemini, script: 'fault=U7-noblank' },
  'what filters found, then a long silence': {
    adapter: openai,
    script: AFTER_FILTERS,
    deployment: { firstTokenTimeoutMs: 30_000, idleTimeoutMs: 300 },
  },
  'what filters found, then too long a silence': {
    adapter: openai,
    script: AFTER_FILTERS,
    deployment: { firstTokenTimeoutMs: 300, idleTimeoutMs: 30_000 },
    attempts: ['first_token_timeout'],
    refusal: { status: 502 },
  },
}

/** A provider for each: one that says how long to wait is not asked again until then. */
const PLACES = Object.entries(CASES).flatMap(([title, one], n) =>
  [false, true].map((stream) => ({ title, one, stream, model: `real-${n}-${stream ? 'stream' : 'json'}` })),
)

let world: World

before(async () => {
  world = await createWorld()
  for (const { one, model } of PLACES) {
    const adapter = ADAPTERS.find(({ kind }) => kind === one.adapter) ?? assert.fail(one.adapter)
    const { kind, basePath, apiKey, settings } = adapter
    await addProvider(world.store, world.secrets, model, `${world.simulator.url}${basePath}`, {
      kind,
      apiKey,
      settings,
    })
    await addModel(world.store, { id: model, provider: model, upstreamModel: model, deployment: one.deployment })
  }
  await until(async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    const text = await response.text()
    return PLACES.every(({ model }) => text.includes(`"${model}"`))
  })
})
after(() => world.close())

for (const place of PLACES) {
  test(`${place.title}, ${place.stream ? 'streamed' : 'as JSON'}`, async () => {
    const { one, stream } = place
    const project = await addProject(world.store, world.secrets)
    const response = await ask(place.model, one.script, stream, project)
    if (one.refusal) {
      const { status, retryAfter = null } = one.refusal
      assert.deepEqual([response.status, response.headers.get('retry-after')], [status, retryAfter])
      await response.text()
    } else {
      assert.equal(response.status, 200)
      const expected: Answer = { words: 10, reasoning: '', calls: [], finish: 'stop', ...one.answer }
      if (stream) assert.deepEqual(await readStream(response), expected)
      else assert.deepEqual(await readJson(response), expected)
    }
    const { attempts, oddEnding } = await loggedOf(project)
    const failures = attempts.map(({ failed }) => failed)
    assert.deepEqual([failures, oddEnding], [one.attempts ?? [undefined], one.oddEnding])
    await checkCharge(project, one)
  })
}

function ask(model: string, script: string, stream: boolean, project: TestProject): Promise<Response> {
  const messages = [{ role: 'user', content: `Hello [[sim tokens=10 ${script}]]` }]
  const tools = script.includes('tool=') ? TOOLS : undefined
  return complete(world, { model, stream, messages, tools }, { project })
}

interface Message {
  content?: string | null
  reasoning_content?: string
  tool_calls?: { index?: number; id?: string; function: { name?: string; arguments: string } }[]
}

async function readJson(response: Response): Promise<Answer> {
  const { choices } = (await response.json()) as { choices: { message: Message; finish_reason: string }[] }
  const [choice = assert.fail('no choice')] = choices
  const { content, reasoning_content: reasoning = '', tool_calls: calls = [] } = choice.message
  assert.equal(new Set(calls.map(({ id }) => id ?? assert.fail('no id'))).size, calls.length)
  return {
    words: wordsIn(content ?? ''),
    reasoning,
    calls: calls.map((call) => ({ name: call.function.name ?? '', arguments: call.function.arguments })),
    finish: choice.finish_reason,
  }
}

/** Put together as a client would. */
async function readStream(response: Response): Promise<Answer> {
  const events = eventsOf(await response.text())
  assert.equal(events.pop(), '[DONE]')
  const answer: Answer = { words: 0, reasoning: '', calls: [], finish: '' }
  const ids = new Set<string>()
  let text = ''
  for (const event of events) {
    const { choices } = JSON.parse(event) as { choices: { delta: Message; finish_reason: string | null }[] }
    for (const { delta, finish_reason: reason } of choices) {
      text += delta.content ?? ''
      answer.reasoning += delta.reasoning_content ?? ''
      answer.finish = reason ?? answer.finish
      for (const { index = 0, id, function: called } of delta.tool_calls ?? []) {
        if (id !== undefined) ids.add(id)
        const call = (answer.calls[index] ??= { name: '', arguments: '' })
        call.name += called.name ?? ''
        call.arguments += called.arguments
      }
    }
  }
  assert.equal(ids.size, answer.calls.length, 'each call has an id of its own')
  return { ...answer, words: wordsIn(text) }
}

function wordsIn(text: string): number {
  return text === '' ? 0 : text.split(/ |(?=\.)/).length
}

interface Logged {
  attempts: { failed?: string }[]
  oddEnding?: string
}

async function loggedOf(project: TestProject): Promise<Logged> {
  const line = () => world.logs.findLast((text) => text.includes(project.id) && text.includes('"attempts"'))
  await until(() => line() !== undefined)
  return JSON.parse(line() ?? '') as Logged
}

/** Callers pay for an answer what its provider bills for it; the operator pays for the attempts before it. */
async function checkCharge(project: TestProject, { refusal, anomalies = [] }: Case): Promise<void> {
  const charge = await world.store.db
    .selectFrom('charges')
    .selectAll()
    .where('project_id', '=', project.id)
    .executeTakeFirstOrThrow()
  const flagged = await world.store.db
    .selectFrom('usage_anomalies')
    .select('anomalies')
    .where('project_id', '=', project.id)
    .execute()
  assert.deepEqual(
    flagged.flatMap((row) => row.anomalies),
    anomalies,
  )
  if (refusal) return assert.equal(charge.charged_nanos, 0n)
  const { bill } = world.simulator.calls.at(-1) ?? {}
  assert.ok(charge.charged_nanos > 0n)
  assert.deepEqual(
    {
      fresh: charge.input_tokens,
      cached: charge.cached_input_tokens,
      cacheWrite: charge.cache_write_tokens,
      completion: charge.output_tokens,
      reasoning: charge.reasoning_tokens,
    },
    bill,
  )
}

test('whoever hangs up when a model was of no use, and before it is asked again, pays for it', async () => {
  const { model } = PLACES.find(({ one }) => one.adapter === vertex) ?? assert.fail('no model')
  const project = await addProject(world.store, world.secrets)
  const hangUp = new AbortController()
  const asked = world.simulator.calls.length
  const messages = [{ role: 'user', content: 'Hello [[sim tokens=10 fault=U21-undeclared times=1 reasoning=300]]' }]
  const answer = complete(world, { model, messages }, { project, signal: hangUp.signal })
  answer.catch(() => {})
  await until(() => world.simulator.calls[asked]?.bill !== undefined)
  hangUp.abort()
  await assert.rejects(answer)
  const { attempts } = await loggedOf(project)
  assert.equal(attempts.length, 1, 'the pause before a repeat is at least 50 ms')
  await checkCharge(project, CASES['a call of what nobody declared, again'] ?? assert.fail('no case'))
})

/** One more than opens a breaker. */
const TRIES = 6
/** At the same time: an open breaker lets one after another pass, and only them. */
const NEIGHBOURS = 8

test('whoever makes a model fail takes neither the route nor the key from anybody, nor from itself', async () => {
  for (const [fault, adapter] of [
    ['U20-badcall', openai],
    ['U20-badcall-event', openai],
    ['U21-undeclared', gemini],
    ['U21-malformed', vertex],
  ] as const) {
    const { model } = PLACES.find(({ one }) => one.adapter === adapter && !one.deployment) ?? assert.fail(adapter)
    const tenants = [await addProject(world.store, world.secrets), await addProject(world.store, world.secrets)]
    for (const tenant of tenants) {
      const failed = Array.from({ length: TRIES }, () => ask(model, `fault=${fault}`, true, tenant))
      for (const response of await Promise.all(failed)) await response.text()
    }
    for (const tenant of [...tenants, await addProject(world.store, world.secrets)]) {
      const asked = Array.from({ length: NEIGHBOURS }, () => ask(model, 'ttft=100', false, tenant))
      const answers = await Promise.all(asked)
      for (const response of answers) await response.arrayBuffer()
      const statuses = answers.map(({ status }) => status)
      assert.deepEqual(statuses, Array<number>(NEIGHBOURS).fill(200), fault)
    }
  }
})

test('every fault of one format is tried here', () => {
  const tried = new Set(Object.values(CASES).map(({ script }) => script.split(' ')[0]))
  for (const fault of FAULT_NAMES.filter((name) => /^U2[01]-/.test(name))) assert.ok(tried.has(`fault=${fault}`), fault)
})
