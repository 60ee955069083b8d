import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import type { Anomaly } from '../../src/rules/billing/reported-usage.ts'
import { addModel, addProject, addProvider, complete, createWorld, until, type World } from '../support/world.ts'

/**
 * A provider that answers well and lies about what that came to. Whatever it says, a publisher pays no more than is
 * possible for the bytes that went to and fro, and every lie is kept for the operator.
 */

const SAID = [' one', ' two', ' three', ' four', ' five']
const MESSAGE = 'Count to five.'
/** By our own tokenizer: three for the opening of the reply, four for the message's frame, and its text. */
const PROMPT_TOKENS = 3 + 4 + 4
/** The prompt and answer including what a provider may put around and after them; docs/billing.md states both margins. */
const MOST_PROMPT = MESSAGE.length + 1_024 + 16
const MOST_VISIBLE = SAID.join('').length + 64

interface Lie {
  /** The usage report in the event of each word; the last one is also in the final event. A single one is only there. */
  reports: unknown[]
  anomalies: Anomaly[]
  /** The tokens that are charged all the same: fresh prompt, cached prompt, visible answer, thoughts. */
  charged: [input: number, cached: number, output: number, reasoning: number]
}

/** The report comes when the answer has ended. */
const LATE = ', late'

const HONEST = { prompt_tokens: 20, completion_tokens: 6 }

const LIES: Record<string, Lie> = {
  honest: { reports: [HONEST], anomalies: [], charged: [20, 0, 6, 0] },
  zeros: {
    reports: [{ prompt_tokens: 0, completion_tokens: 0 }],
    anomalies: ['zero'],
    charged: [PROMPT_TOKENS, 0, SAID.length, 0],
  },
  'no answer': {
    reports: [{ ...HONEST, completion_tokens: 0 }],
    anomalies: ['zero'],
    charged: [20, 0, SAID.length, 0],
  },
  millions: {
    reports: [{ prompt_tokens: 3_000_000, completion_tokens: 5_000_000 }],
    anomalies: ['prompt_too_large', 'output_too_large'],
    charged: [MOST_PROMPT, 0, MOST_VISIBLE, 0],
  },
  'the most that the model can write': {
    reports: [{ ...HONEST, completion_tokens: 16_384 }],
    anomalies: ['output_too_large'],
    charged: [20, 0, MOST_VISIBLE, 0],
  },
  'beyond every column': {
    reports: [{ prompt_tokens: 1e18, completion_tokens: 1e18 }],
    anomalies: ['not_a_count'],
    charged: [PROMPT_TOKENS, 0, SAID.length, 0],
  },
  falling: {
    reports: [{ prompt_tokens: 900, completion_tokens: 1 }, HONEST],
    anomalies: ['falling'],
    charged: [20, 0, 6, 0],
  },
  jumping: {
    reports: [HONEST, { prompt_tokens: 900_000, completion_tokens: 2 }, HONEST],
    anomalies: ['falling'],
    charged: [20, 0, 6, 0],
  },
  missing: { reports: [], anomalies: ['missing'], charged: [PROMPT_TOKENS, 0, SAID.length, 0] },
  nothing: { reports: [null], anomalies: ['missing'], charged: [PROMPT_TOKENS, 0, SAID.length, 0] },
  empty: { reports: [{}], anomalies: ['not_a_count'], charged: [PROMPT_TOKENS, 0, SAID.length, 0] },
  negative: {
    reports: [{ prompt_tokens: -20, completion_tokens: -6 }],
    anomalies: ['not_a_count'],
    charged: [PROMPT_TOKENS, 0, SAID.length, 0],
  },
  strings: {
    reports: [{ prompt_tokens: '20', completion_tokens: 'six' }],
    anomalies: ['not_a_count'],
    charged: [PROMPT_TOKENS, 0, SAID.length, 0],
  },
  fractions: {
    reports: [{ prompt_tokens: 20.5, completion_tokens: 6.25 }],
    anomalies: ['not_a_count'],
    charged: [PROMPT_TOKENS, 0, SAID.length, 0],
  },
  'a cache beyond the prompt': {
    reports: [{ ...HONEST, prompt_tokens_details: { cached_tokens: 4_000 } }],
    anomalies: ['cache_too_large'],
    charged: [0, 20, 6, 0],
  },
  'a cache below zero': {
    reports: [{ ...HONEST, prompt_tokens_details: { cached_tokens: -4_000 } }],
    anomalies: ['not_a_count'],
    charged: [20, 0, 6, 0],
  },
  'thoughts of a model that has none': {
    reports: [{ ...HONEST, completion_tokens: 9_000, completion_tokens_details: { reasoning_tokens: 8_994 } }],
    anomalies: ['unexpected_reasoning'],
    charged: [20, 0, 6, 0],
  },
}

let world: World
let provider: Server

before(async () => {
  provider = createServer((req, res) => {
    void json(req).then((body) => res.end(answerOf((body as { model: string }).model)))
    res.writeHead(200, { 'content-type': 'text/event-stream' })
  })
  await once(provider.listen(0, '127.0.0.1'), 'listening')
  world = await createWorld()
  const { port } = provider.address() as AddressInfo
  await addProvider(world.store, world.secrets, 'liar', `http://127.0.0.1:${port}/v1`)
  const figures = { image: 0, file: 0, tool: 0, reasoning: 0 }
  for (const upstreamModel of [...Object.keys(LIES), `honest${LATE}`])
    await addModel(world.store, { id: idOf(upstreamModel), provider: 'liar', upstreamModel, figures })
  await until(async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    return (await response.text()).includes(idOf(`honest${LATE}`))
  })
})
after(async () => {
  await world.close()
  provider.closeAllConnections()
  provider.close()
})

function answerOf(model: string): string {
  const isLate = model.endsWith(LATE)
  const { reports } = LIES[model.replace(LATE, '')]!
  const usageAt = (word: number) => (reports.length > 1 ? reports[Math.min(word, reports.length - 1)] : undefined)
  const words = SAID.map((content, word) => event({ content }, null, usageAt(word)))
  const end = [event({}, 'stop', isLate ? undefined : reports.at(-1)), 'data: [DONE]\n\n']
  return [...words, ...end, isLate ? event({}, null, reports.at(-1)) : ''].join('')
}

function event(delta: object, finishReason: string | null, usage: unknown): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }]
  const chunk = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'x', choices, usage }
  return `data: ${JSON.stringify(chunk)}\n\n`
}

function idOf(upstreamModel: string): string {
  return `liar-${upstreamModel.replaceAll(/[^a-z]+/g, '-')}`
}

for (const stream of [true, false]) {
  for (const [name, { anomalies, charged }] of Object.entries(LIES)) {
    test(`${name}${stream ? '' : ', not streamed'}: charged as far as possible${anomalies[0] ? ', and flagged' : ''}`, () =>
      check(name, stream, charged, anomalies))
  }
}

test('a report after the end is no report', () =>
  check(`honest${LATE}`, true, [PROMPT_TOKENS, 0, SAID.length, 0], ['missing']))

async function check(upstreamModel: string, stream: boolean, charged: Lie['charged'], anomalies: Anomaly[]) {
  const project = await addProject(world.store, world.secrets)
  const body = { model: idOf(upstreamModel), stream, messages: [{ role: 'user', content: MESSAGE }] }
  const response = await complete(world, body, { project })
  assert.equal(response.status, 200)
  await response.text()
  const charge = await world.store.db
    .selectFrom('charges')
    .selectAll()
    .where('project_id', '=', project.id)
    .executeTakeFirstOrThrow()
  const [input, cached, output, reasoning] = charged
  assert.deepEqual(
    [charge.input_tokens, charge.cached_input_tokens, charge.output_tokens, charge.reasoning_tokens],
    charged,
  )
  assert.equal(charge.charged_nanos, BigInt(input * 1_000 + cached * 500 + (output + reasoning) * 4_000))
  const flagged = await world.store.db
    .selectFrom('usage_anomalies')
    .select(['call_id', 'provider', 'anomalies'])
    .where('project_id', '=', project.id)
    .execute()
  assert.deepEqual(flagged, anomalies.length === 0 ? [] : [{ call_id: charge.id, provider: 'liar', anomalies }])
}

test('what a provider reported is kept beside what was odd about it', async () => {
  const project = await addProject(world.store, world.secrets)
  const body = { model: idOf('millions'), messages: [{ role: 'user', content: MESSAGE }] }
  await (await complete(world, body, { project })).text()
  const kept = world.store.db.selectFrom('usage_anomalies').select('reported').where('project_id', '=', project.id)
  const reported = { input: 3_000_000, cachedInput: 0, cacheWrite: 0, output: 5_000_000, reasoning: 0 }
  assert.deepEqual(await kept.execute(), [{ reported }])
})
