/** The attacks of a hostile or careless tenant, which go on until it is told to stop. All are within what its keys allow. */
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { KEY_PAIR_RANDOM_BYTES, keyPairFrom } from '../../src/rules/projects/keys.ts'
import type { TestProject } from '../support/world.ts'
import type { Caller, Received, Sent } from './exchange.ts'
import { GUIDE_MODEL, MODEL, UNBOUNDED_MODEL, type Tenants } from './tenants.ts'

/** Where to attack, and as whom. */
export interface Orders {
  attack: string
  gatewayUrl: string
  consoleUrl: string
  databaseUrl: string
  tenant: Tenants['attacker']
}

export interface Scene extends Orders {
  caller: Caller
  address: string
  signal: AbortSignal
  note(ending: number | string, times?: number): void
  /** From here on the quiet tenant is measured. */
  underWay(): void
}

/** Resolves when the signal has come and nothing is left. */
type Attacker = (scene: Scene) => Promise<void>

export const ATTACKERS: Record<string, Attacker> = {
  'large bodies': (scene) => {
    scene.underWay()
    return inLanes(scene, 4, (n) => complete(scene, scene.tenant.poor, LARGE_BODIES[n % LARGE_BODIES.length] ?? ''))
  },
  'stalled uploads': (scene) => {
    setTimeout(scene.underWay, SETTLES_MS)
    return Promise.all(Array.from({ length: UPLOADS }, (_, n) => stallUploads(scene, (n * REOPEN_MS) / UPLOADS))).then(
      () => undefined,
    )
  },
  'slow calls': async (scene) => {
    setTimeout(scene.underWay, SETTLES_MS)
    const text = `[[sim ttft=60000]] ${'word '.repeat(200)}`
    await inLanes(scene, SLOW_CALLS, () => complete(scene, scene.tenant.project, bodyOf({ text, max_tokens: 1 })))
  },
  'locked wallet': lockWallet,
  'poisoned batches': (scene) => {
    scene.underWay()
    return inLanes(scene, 20, (n) => complete(scene, scene.tenant.project, poisonOf(n)))
  },
  'too many tool calls': (scene) => {
    setTimeout(scene.underWay, SETTLES_MS)
    const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }]
    const body = bodyOf({ text: '[[sim tool=look calls=129]]', stream: true, tools })
    return inLanes(scene, 4, async () => {
      const { status, text } = await complete(scene, scene.tenant.project, body)
      return { status: text.includes('"index":127') ? `${status} with 128 calls` : status, text: '' }
    })
  },
  'slow readers': (scene) => {
    setTimeout(scene.underWay, SETTLES_MS)
    const body = bodyOf({ text: '[[sim tokens=20000 impatient=300]]', stream: true })
    // A few, and not at once: what they are to spoil is what is thought of the provider, not the processor.
    return inLanes(scene, 4, async (n) => {
      await sleep(n <= 4 ? n * 500 : 0)
      return complete(scene, scene.tenant.project, body, {
        async read(response) {
          await sleep(UNREAD_MS)
          response.destroy()
          return ''
        },
      })
    })
  },
  'console reads': (scene) => {
    setTimeout(scene.underWay, SETTLES_MS)
    const { cookie, busy } = scene.tenant
    const pages = ['calls', 'usage', 'costs', 'calls?min_cost=99', 'ledger']
    return inLanes(scene, 64, (n) =>
      scene.caller.send(`${scene.consoleUrl}/api/projects/${busy}/${pages[n % pages.length]}`, {
        headers: { cookie },
      }),
    )
  },
  'full matcher': (scene) => {
    setTimeout(scene.underWay, SETTLES_MS)
    return inLanes(scene, MATCHED_AT_ONCE, async (n) => {
      // Spread: all at once, they would fill the gateway and not the matcher.
      await sleep(n <= MATCHED_AT_ONCE ? (n * MATCHED_AGAIN_MS) / MATCHED_AT_ONCE : MATCHED_AGAIN_MS)
      const body = bodyOf({ model: GUIDE_MODEL, text: `${LONG_QUESTION} My seat is number ${n}.` })
      const headers = { 'x-conversation-id': crypto.randomUUID() }
      const { status, text } = await complete(scene, scene.tenant.project, body, { headers })
      return { status: status === 200 && !text.includes('**Ad**') ? '200 without' : status, text: '' }
    })
  },
  'wrong keys': (scene) => {
    scene.underWay()
    return inLanes(scene, 100, () => {
      const { publishable, secret } = keyPairFrom(randomBytes(KEY_PAIR_RANDOM_BYTES), '00')
      const headers = { 'x-publishable-key': publishable, 'x-secret-key': secret }
      return complete(scene, { ...scene.tenant.project, headers }, bodyOf({ text: 'Hello' }))
    })
  },
}

const UPLOADS = 250
const UPLOAD_BYTES = 8_388_600
/** Enough to be kept waiting for, and not all. */
const UPLOADED = Buffer.alloc(8_300_000, ' ')
const REOPEN_MS = 1_000
const SLOW_CALLS = 60
const SETTLES_MS = 1_000
const UNREAD_MS = 2_000
const MATCHED_AT_ONCE = 96
/** Fast enough to fill a matcher, and slow enough for a gateway. */
const MATCHED_AGAIN_MS = 1_000
/** The delay of a network: no client can ask again sooner. */
const AGAIN_MS = 20
const LARGE_BODIES = [
  Buffer.from(bodyOf({ text: 'é'.repeat(4_000_000) })),
  Buffer.from(`{"model":"${MODEL}","messages":[${'1,'.repeat(4_190_000)}1]}`),
]
/** As long as what is embedded of it, so that each costs a matcher as much as one can. */
const LONG_QUESTION = `Which noise-cancelling headphones should I buy for long flights? ${'I fly across the ocean twice a month, sit beside the engines, and want to sleep and to hear my own music. '.repeat(12)}`

/** Returns a request that no statement of the database can take, if it gets that far. */
function poisonOf(n: number): string {
  const most = Number.MAX_SAFE_INTEGER
  const poisons = [
    { max_tokens: most },
    { max_completion_tokens: most, stream: true },
    { max_tokens: most, user: '\u{10ffff}'.repeat(250), seed: -most },
  ]
  return bodyOf({ model: UNBOUNDED_MODEL, text: '[[sim tokens=3]]', ...poisons[n % poisons.length] })
}

function bodyOf({ text, ...more }: { text: string } & Record<string, unknown>): string {
  return JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: text }], ...more })
}

function complete(
  { caller, gatewayUrl, signal }: Scene,
  { headers }: TestProject,
  body: string | Buffer,
  more: Sent = {},
): Promise<Received> {
  const sent = { body, signal, withinMs: 60_000, ...more, headers: { ...headers, ...more.headers } }
  return caller.send(`${gatewayUrl}/v1/chat/completions`, sent)
}

/** So many at a time, one after the other, as fast as they are answered. Those that still wait at the end are `open`. */
async function inLanes({ signal, note }: Scene, lanes: number, ask: (n: number) => Promise<Received>): Promise<void> {
  let asked = 0
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (!signal.aborted) {
        const { status } = await ask((asked += 1))
        note(signal.aborted ? 'open' : status)
        await sleep(AGAIN_MS)
      }
    }),
  )
}

/** Sends almost all of a body, and then nothing more. */
async function stallUploads({ gatewayUrl, address, tenant, signal, note }: Scene, afterMs: number): Promise<void> {
  const { hostname, port } = new URL(gatewayUrl)
  const head = ['POST /v1/chat/completions HTTP/1.1', `host: ${hostname}`, 'content-type: application/json']
  for (const [name, value] of Object.entries(tenant.poor.headers)) head.push(`${name}: ${value}`)
  head.push(`content-length: ${UPLOAD_BYTES}`)
  // Not all at once, and again after a while: what they are to take is memory and places, not the processor.
  await sleep(afterMs)
  while (!signal.aborted) {
    const socket = connect({ host: hostname, port: Number(port), localAddress: address })
    const stop = () => socket.destroy()
    signal.addEventListener('abort', stop)
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    socket.write(UPLOADED)
    let status: string | undefined
    socket.on('error', () => {}).on('data', (data) => (status ??= /^HTTP\/1\.1 (\d+)/.exec(String(data))?.[1]))
    await new Promise((resolve) => socket.once('close', resolve))
    signal.removeEventListener('abort', stop)
    note(status ?? (signal.aborted ? 'stalled' : 'closed'))
    await sleep(REOPEN_MS)
  }
}

/** As a long transaction of anybody's would: a report, a repair, a console that hangs. */
async function lockWallet(scene: Scene): Promise<void> {
  const { databaseUrl, tenant, signal, note } = scene
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('begin')
  await client.query('select from wallets where project_id = $1 for update', [tenant.project.id])
  const lockedMs = performance.now()
  scene.underWay()
  const calls = inLanes(scene, 10, () =>
    complete(scene, tenant.project, bodyOf({ text: '[[sim tokens=3]]' }), { withinMs: 3_000 }),
  )
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  note('ms locked', Math.round(performance.now() - lockedMs))
  await client.query('rollback')
  await client.end()
  await calls
}
