import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import {
  addModel,
  addProject,
  addProvider,
  complete,
  createWorld,
  credit,
  until,
  walletOf,
  type World,
} from '../support/world.ts'

/**
 * Every ending of a call against every kind of usage, over real sockets and down to the wallet: the charging table as a
 * test. The upstream here is scripted by hand, because no honest one combines these.
 */

type Usage = { prompt_tokens: number; completion_tokens: number } | undefined

const WORDS = [' one', ' two', ' three', ' four', ' five', ' six', ' seven', ' eight']
const PROMPT_TOKENS = 3 + 4 + encode('Count').length

const USAGES: Record<string, Usage> = {
  reported: { prompt_tokens: 30, completion_tokens: 20 },
  missing: undefined,
  zero: { prompt_tokens: 0, completion_tokens: 0 },
  absurd: { prompt_tokens: -5, completion_tokens: 1e12 },
}

/** The events after the words; the script of a call is its model's upstream name, `ending/usage`. */
const ENDINGS: Record<string, (res: ServerResponse, usage: Usage) => Promise<void>> = {
  async completed(res, usage) {
    res.write(event({}, 'stop', usage))
    res.end('data: [DONE]\n\n')
  },
  async hung_up(res, usage) {
    for (let i = 0; i < 200 && !res.destroyed; i++, await sleep(20)) res.write(event({ content: ' more' }, null, usage))
    res.end()
  },
  async upstream_failed(res) {
    res.end('data: {"error":{"message":"overloaded"}}\n\n')
  },
  async truncated(res) {
    res.end()
  },
  async timed_out() {
    // Silent, until the gateway gives up.
  },
  async hold_used_up(res, usage) {
    for (let i = 0; i < 600 && !res.destroyed; i++) {
      res.write(event({ content: ' more' }, null, usage))
      if (i % 20 === 0) await sleep(1)
    }
    res.end()
  },
}

function event(delta: object, finishReason: string | null, usage: Usage): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }]
  return `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'x', choices, ...(usage ? { usage } : {}) })}\n\n`
}

let world: World
let upstream: Server

before(async () => {
  upstream = createServer((req, res) => {
    let body = ''
    req.on('data', (piece: Buffer) => (body += String(piece)))
    req.on('end', () => {
      const [ending, usage] = (JSON.parse(body) as { model: string }).model.split('/')
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      // Usage on every event, as some providers send it: of an answer that still runs it tells only what the prompt was.
      for (const word of WORDS) res.write(event({ content: word }, null, USAGES[usage!]))
      void ENDINGS[ending!]!(res, USAGES[usage!])
    })
  })
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  world = await createWorld()
  await addProvider(
    world.store,
    world.secrets,
    'scripted',
    `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`,
  )
  for (const ending of Object.keys(ENDINGS)) {
    for (const usage of Object.keys(USAGES)) {
      await addModel(world.store, {
        id: `${ending}-${usage}`,
        provider: 'scripted',
        upstreamModel: `${ending}/${usage}`,
        // Only the silent one: a busy machine may pause any of the others for that long.
        ...(ending === 'timed_out' ? { deployment: { idleTimeoutMs: 250 } } : {}),
      })
    }
  }
  await until(async () =>
    (await (await fetch(`${world.url}/v1/models`, { headers: world.project.headers })).text()).includes(
      'hold_used_up-zero',
    ),
  )
})
after(async () => {
  await world.close()
  upstream.closeAllConnections()
  upstream.close()
})

function cost(prompt: number, completion: number): bigint {
  return BigInt(prompt * 1_000 + completion * 4_000)
}

/** Reads until something of the answer is there. */
async function untilWord(response: Response): Promise<void> {
  let text = ''
  for await (const bytes of response.body ?? []) {
    text += Buffer.from(bytes).toString()
    if (/"content":"[^"]/.test(text)) return
  }
  assert.fail(`there is no word in ${text}`)
}

for (const ending of Object.keys(ENDINGS)) {
  for (const usage of Object.keys(USAGES)) {
    test(`${ending} with ${usage} usage is charged by the table`, async () => {
      const project = await addProject(world.store, world.secrets, { credits: '0' })
      const funds = ending === 'hold_used_up' ? cost(PROMPT_TOKENS, 300) : 1_000_000_000n
      await credit(world.store, project.id, funds)
      const body = { model: `${ending}-${usage}`, stream: true, messages: [{ role: 'user', content: 'Count' }] }
      const abort = new AbortController()
      const response = await complete(world, body, { project, signal: abort.signal })
      if (ending === 'hung_up') {
        await untilWord(response)
        abort.abort()
      } else await response.text()
      await until(async () => (await walletOf(world.store, project.id)).openHolds === 0)

      const charge = await world.store.db
        .selectFrom('charges')
        .selectAll()
        .where('project_id', '=', project.id)
        .executeTakeFirstOrThrow()
      assert.equal(charge.outcome, ending)
      const counted = cost(PROMPT_TOKENS, charge.output_tokens)
      const expected: Record<string, bigint> = {
        completed: usage === 'reported' ? cost(30, 20) : counted,
        hung_up: usage === 'reported' ? cost(30, charge.output_tokens) : counted,
        hold_used_up: charge.held_nanos,
        upstream_failed: 0n,
        truncated: 0n,
        timed_out: 0n,
      }
      assert.equal(charge.charged_nanos, expected[ending])
      assert.equal((await walletOf(world.store, project.id)).balance, funds - expected[ending]!)
      if (ending === 'hold_used_up') assert.equal(charge.held_nanos, funds, 'the hold had grown to all there was')
      if (ending === 'completed' && expected.completed === counted) assert.equal(charge.output_tokens, WORDS.length)
      if (ending === 'hung_up') assert.ok(charge.output_tokens > 0, 'what the caller got is paid for')
      assert.equal(charge.usage_source, ending === 'completed' && usage === 'reported' ? 'reported' : 'estimated')
    })
  }
}
