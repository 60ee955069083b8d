/** Decisions of a gateway before it reads a body, over real sockets: how often, how many, how much, how fast, and for whom. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  addKeyPair,
  addProject,
  chatBody,
  complete,
  createWorld,
  credit,
  until,
  walletOf,
  type TestProject,
  type World,
} from '../support/world.ts'

const MIB = 1024 * 1024
const KIB = 1024

let world: World

before(async () => {
  world = await createWorld({
    env: {
      PARLEY_TRUSTED_PROXIES: '127.0.0.1',
      PARLEY_CALLS_MAX: '10',
      PARLEY_PROJECT_CALLS_PERCENT: '40',
      PARLEY_KEY_PAIR_CALLS_PERCENT: '30',
      PARLEY_ADDRESS_REQUESTS_PER_SECOND: '4',
      PARLEY_KEY_PAIR_REQUESTS_PER_SECOND: '2',
      PARLEY_BODIES_MIB_MAX: '32',
      PARLEY_UPLOAD_SILENCE_MS: '1000',
      PARLEY_UPLOAD_BYTES_PER_SECOND: '4096',
    },
  })
})
after(() => world.close())

/** Everybody here comes through a proxy, and each from an address of its own unless it says which. */
let lastAddress = 0
const newAddress = () => `203.0.${Math.floor(++lastAddress / 250)}.${lastAddress % 250}`

function newProject(credits = '10'): Promise<TestProject> {
  return addProject(world.store, world.secrets, { credits })
}

interface Asked {
  headers: Record<string, string>
  address?: string
}

async function listModels({ headers, address = newAddress() }: Asked): Promise<Response> {
  const response = await fetch(`${world.url}/v1/models`, { headers: { ...headers, 'x-forwarded-for': address } })
  await response.arrayBuffer()
  return response
}

/** All at once: on a slow machine, buckets fill up again meanwhile. */
async function statusesOf(count: number, ask: (n: number) => Promise<Response>): Promise<Record<number, number>> {
  const tally: Record<number, number> = {}
  for (const { status } of await Promise.all(Array.from({ length: count }, (_, n) => ask(n))))
    tally[status] = (tally[status] ?? 0) + 1
  return tally
}

async function metricOf(name: string): Promise<number> {
  const text = await (await fetch(`${world.opsUrl}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(`${name} `) || each.startsWith(`${name}{`))
  return Number(line?.split(' ').at(-1) ?? 0)
}

const refusalsOf = (reason: string) => metricOf(`parley_intake_refusals_total{reason="${reason}"}`)

/** A connection that sends what it is told to and keeps what comes back. */
interface Wire {
  write(bytes: string | Buffer): void
  readonly text: string
  readonly isClosed: boolean
  readonly unsent: number
  close(): void
}

async function dial(): Promise<Wire> {
  const { hostname, port } = new URL(world.url)
  const socket: Socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  let text = ''
  let isClosed = false
  socket.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  socket.on('error', () => {}).on('close', () => (isClosed = true))
  await once(socket, 'connect')
  return {
    write: (bytes) => void socket.write(bytes),
    get text() {
      return text
    },
    get isClosed() {
      return isClosed
    },
    get unsent() {
      return socket.writableLength
    },
    close: () => socket.destroy(),
  }
}

function headOf(headers: Record<string, string>, more: Record<string, string | number>): string {
  const all = {
    host: 'parley',
    'x-forwarded-for': newAddress(),
    'content-type': 'application/json',
    ...headers,
    ...more,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return ['POST /v1/chat/completions HTTP/1.1', ...lines, '', ''].join('\r\n')
}

/** Begins a call that goes on until it is hung up. */
async function beginCall(project: TestProject): Promise<{ hangUp(): Promise<void> }> {
  const abort = new AbortController()
  const open = world.simulator.openCalls()
  const ended = complete(world, chatBody('fault=U5'), {
    project,
    signal: abort.signal,
    headers: { 'x-forwarded-for': newAddress() },
  }).catch(() => undefined)
  await until(() => world.simulator.openCalls() === open + 1)
  return {
    async hangUp() {
      abort.abort()
      await ended
    },
  }
}

async function ask(project: TestProject, body: unknown = chatBody('tokens=2')): Promise<Response> {
  const response = await complete(world, body, { project, headers: { 'x-forwarded-for': newAddress() } })
  await response.clone().arrayBuffer()
  return response
}

test('an address that asks too often is refused with 429 and Retry-After; wrong keys count as much as right ones', async () => {
  const { headers } = await newProject()
  const address = '198.51.100.7'
  const wrong = { ...headers, 'x-secret-key': String(world.project.headers['x-secret-key']) }
  const before = await refusalsOf('address_rate')
  const tally = await statusesOf(60, () => listModels({ headers: wrong, address }))
  assert.ok((tally[401] ?? 0) >= 40 && (tally[429] ?? 0) > 5, JSON.stringify(tally))
  // Right keys at once, and many: after a moment the address has saved up a few requests again.
  const replies = await Promise.all(Array.from({ length: 60 }, () => listModels({ headers, address })))
  const refused = replies.find(({ status }) => status === 429)
  assert.equal(refused?.headers.get('retry-after'), '1')
  assert.ok((await refusalsOf('address_rate')) > before)
  // A neighbour is somebody else, and so is the same caller from elsewhere.
  assert.equal((await listModels({ headers, address: '198.51.100.8' })).status, 200)
})

test('an IPv6 network of 2^64 addresses is one caller', async () => {
  const { headers } = await newProject()
  const wrong = { ...headers, 'x-secret-key': 'nonsense' }
  const tally = await statusesOf(60, (n) => listModels({ headers: wrong, address: `2001:db8:1:1::${n + 1}` }))
  assert.ok((tally[429] ?? 0) > 5, JSON.stringify(tally))
  assert.equal((await listModels({ headers, address: '2001:db8:1:2::1' })).status, 200)
})

test('a key pair that asks too often is refused, from wherever, with 429; calls that are refused for other reasons count', async () => {
  const project = await newProject()
  const neighbour = await newProject()
  const tally: Record<number, number> = {}
  // No more at once than there are places.
  for (let n = 0; n < 20; n++) {
    const { 400: bad = 0, 429: often = 0 } = await statusesOf(3, () => ask(project, { model: 'sim-small' }))
    tally[400] = (tally[400] ?? 0) + bad
    tally[429] = (tally[429] ?? 0) + often
  }
  assert.ok((tally[400] ?? 0) >= 20 && (tally[429] ?? 0) > 5, JSON.stringify(tally))
  const refused = await ask(project)
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers.get('retry-after')) >= 1)
  const body = (await refused.json()) as { message: string }
  assert.deepEqual(Object.keys(body).toSorted(), ['error', 'message', 'statusCode'])
  assert.match(body.message, /Too many requests with this key pair/)
  assert.equal((await ask(neighbour)).status, 200)
  // Another pair of the same project is another one.
  const { headers } = await addKeyPair(world.store, world.secrets, project.id)
  assert.equal((await listModels({ headers })).status, 200)
})

test('a key pair and a project have their shares of the places; when all are taken, others still get in', async () => {
  const calls: { hangUp(): Promise<void> }[] = []
  const first = await newProject()
  const secondPair = { ...first, ...(await addKeyPair(world.store, world.secrets, first.id)) }
  try {
    for (let n = 0; n < 3; n++) calls.push(await beginCall(first))
    const overKeyPair = await ask(first)
    assert.equal(overKeyPair.status, 429)
    assert.equal(overKeyPair.headers.get('retry-after'), '1')
    assert.match(await overKeyPair.text(), /This key pair has its share/)
    calls.push(await beginCall(secondPair))
    const overProject = await ask(secondPair)
    assert.equal(overProject.status, 429)
    assert.match(await overProject.text(), /This project has its share/)
    // Two more projects take the rest of the ten.
    for (const project of [await newProject(), await newProject()])
      for (let n = 0; n < 3; n++) calls.push(await beginCall(project))
    const late = await newProject()
    assert.equal((await ask(late)).status, 200)
    // It has an equal part of the ten when it has two: three others have the rest.
    for (let n = 0; n < 2; n++) calls.push(await beginCall(late))
    assert.equal((await ask(late)).status, 429)
    assert.equal((await ask(await newProject())).status, 200)
  } finally {
    for (const call of calls) await call.hangUp()
  }
  await until(async () => (await ask(first)).status === 200)
})

test('an upload takes a place while it comes, and gives it back when it ends in whatever way', async () => {
  const project = await newProject()
  const wires: Wire[] = []
  for (let n = 0; n < 3; n++) {
    const wire = await dial()
    wire.write(`${headOf(project.headers, { 'content-length': 1_000 })}{`)
    wires.push(wire)
  }
  await until(async () => (await listModels(project)).status === 429)
  for (const wire of wires) wire.close()
  // More than there are places: a request that is no call gives its own back, too.
  for (let n = 0; n < 5; n++) await until(async () => (await listModels(project)).status === 200)
})

test('a large body is not read for an empty wallet: 403 before it comes, and as soon as it passes 64 KiB when it does not say', async () => {
  const project = await newProject('0')
  const declared = await dial()
  declared.write(headOf(project.headers, { 'content-length': 8 * MIB }))
  await until(() => declared.text.includes('\r\n\r\n'))
  assert.match(declared.text, /^HTTP\/1\.1 403 /)
  assert.match(declared.text, /Insufficient credit: while the wallet is empty/)
  declared.close()
  const chunked = await dial()
  chunked.write(headOf(project.headers, { 'transfer-encoding': 'chunked' }))
  chunked.write(`${(60 * KIB).toString(16)}\r\n${' '.repeat(60 * KIB)}\r\n`)
  await sleep(200)
  assert.equal(chunked.text, '')
  chunked.write(`${(8 * KIB).toString(16)}\r\n${' '.repeat(8 * KIB)}\r\n`)
  await until(() => chunked.text.includes('\r\n\r\n'))
  assert.match(chunked.text, /^HTTP\/1\.1 403 /)
  chunked.close()
  // A small one is asked of the wallet, as ever.
  const small = await ask(project)
  assert.equal(small.status, 403)
  assert.match(await small.text(), /cannot pay for this prompt/)
})

test('whoever tops up is served within two seconds, with bodies of any size', async () => {
  const project = await newProject('0')
  const large = chatBody('tokens=2', { metadata: 'x'.repeat(100 * KIB) })
  assert.equal((await ask(project, large)).status, 403)
  await credit(world.store, project.id, 1_000_000_000n)
  await sleep(2_100)
  assert.equal((await ask(project, large)).status, 200)
  // The amount that calls hold is still in the wallet: it is not empty.
  assert.ok((await walletOf(world.store, project.id)).balance > 0n)
})

test('the rest of a body that is refused is not read, and its connection ends when the answer has arrived', async () => {
  const project = await newProject('0')
  const wire = await dial()
  wire.write(headOf(project.headers, { 'content-length': 8 * MIB }))
  await until(() => wire.text.includes('\r\n\r\n'))
  for (let n = 0; n < 127; n++) wire.write(Buffer.alloc(64 * KIB, 0x20))
  await sleep(300)
  assert.ok(wire.unsent > 0, 'all of it was taken')
  await until(() => wire.isClosed, 5_000)
})

test('whoever waits for "100 Continue" gets it when its body is wanted, and not when it is refused', async () => {
  const expect = { expect: '100-continue' }
  const poor = await newProject('0')
  const refused = await dial()
  refused.write(headOf(poor.headers, { ...expect, 'content-length': 8 * MIB }))
  await until(() => refused.text.includes('\r\n\r\n'))
  assert.match(refused.text, /^HTTP\/1\.1 403 /)
  refused.close()
  const rich = await newProject()
  const body = JSON.stringify(chatBody('tokens=2'))
  const wanted = await dial()
  wanted.write(headOf(rich.headers, { ...expect, 'content-length': body.length }))
  await until(() => wanted.text.startsWith('HTTP/1.1 100 Continue\r\n\r\n'))
  wanted.write(body)
  await until(() => wanted.text.includes('HTTP/1.1 200 OK'))
  wanted.close()
})

test('stalled uploads of one key pair take no more memory than its share, and leave the rest to others', async () => {
  const project = await newProject()
  // A call that was hung up before may still be read on.
  const before = await metricOf('parley_body_bytes')
  const wires: Wire[] = []
  for (let n = 0; n < 3; n++) {
    const wire = await dial()
    wire.write(headOf(project.headers, { 'content-length': 8 * MIB }))
    wire.write(Buffer.alloc(7 * MIB, 0x20))
    wires.push(wire)
  }
  await until(async () => (await metricOf('parley_body_bytes')) > before)
  const most = before + 8 * MIB
  for (let n = 0; n < 20; n++) {
    const taken = await metricOf('parley_body_bytes')
    assert.ok(taken <= most, `${taken} bytes`)
    await sleep(20)
  }
  const neighbour = await newProject()
  assert.equal((await ask(neighbour, chatBody('tokens=2', { metadata: 'x'.repeat(MIB) }))).status, 200)
  await until(() => wires.every(({ text }) => text.includes('\r\n\r\n')), 10_000)
  const statuses = wires.map(({ text }) => text.slice(9, 12)).toSorted()
  assert.ok(statuses.includes('429'), statuses.join(' '))
  assert.ok(
    statuses.every((status) => status === '429' || status === '408'),
    statuses.join(' '),
  )
  for (const wire of wires) wire.close()
  await until(async () => (await metricOf('parley_body_bytes')) <= before)
})

test('an upload that brings nothing for a while is ended with 408, and so is one that drips', async () => {
  const project = await newProject()
  const silent = await dial()
  silent.write(`${headOf(project.headers, { 'content-length': 1_000 })}{"model":`)
  await until(() => silent.text.includes('\r\n\r\n'), 5_000)
  assert.match(silent.text, /^HTTP\/1\.1 408 /)
  const dripping = await dial()
  dripping.write(`${headOf(project.headers, { 'content-length': 100 * KIB })}{`)
  const drip = setInterval(() => dripping.write(' '), 300)
  await until(() => dripping.text.includes('\r\n\r\n'), 15_000)
  clearInterval(drip)
  assert.match(dripping.text, /^HTTP\/1\.1 408 /)
  assert.ok((await refusalsOf('slow_upload')) >= 2)
  silent.close()
  dripping.close()
})

test('a body in chunks of one byte takes the memory of its bytes', async () => {
  const project = await newProject()
  const body = JSON.stringify(chatBody('tokens=2', { metadata: 'x'.repeat(100_000) }))
  const wire = await dial()
  wire.write(headOf(project.headers, { 'transfer-encoding': 'chunked' }))
  wire.write(`${Array.from(body, (byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`)
  await until(() => wire.text.includes('\r\n\r\n'))
  assert.match(wire.text, /^HTTP\/1\.1 200 /)
  wire.close()
})

test('a flood of refusals leaves some lines in the log, and a number that says how many are missing', async () => {
  const { headers } = await newProject()
  const lines = () => world.logs.filter((line) => line.includes('"error":"keys_missing"'))
  const before = lines().length
  const counted = await metricOf('parley_errors_total{code="keys_missing"}')
  const floods = Array.from({ length: 10 }, (_, address) =>
    statusesOf(39, () => listModels({ headers: { ...headers, 'x-secret-key': '' }, address: `192.0.2.${address}` })),
  )
  await Promise.all(floods)
  assert.equal((await metricOf('parley_errors_total{code="keys_missing"}')) - counted, 390)
  const logged = lines().length - before
  assert.ok(logged >= 90 && logged < 250, `${logged} lines`)
  await sleep(1_000)
  await listModels({ headers: {}, address: '192.0.2.200' })
  const toldOf = lines()
    .slice(before)
    .map((line) => 1 + ((JSON.parse(line) as { leftOut?: number }).leftOut ?? 0))
  assert.equal(
    toldOf.reduce((sum, told) => sum + told, 0),
    391,
  )
})
