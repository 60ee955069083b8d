/** Clients that open a connection and do not finish what they began, at every port that we listen on. */
import assert from 'node:assert/strict'
import diagnostics from 'node:diagnostics_channel'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createWorld, until, type World } from '../support/world.ts'

/** The shortened limits. How often a server looks for clients that exceed them stays as it is. */
const SHORT_HEADERS_MS = 300
const SHORT_REQUEST_MS = 900
/** Generous for a busy machine, and far from the 30 s after which Node looks by itself. */
const ENDED_WITHIN_MS = 8_000

let world: World
let directory: string
const servers = new Map<string, Server>()

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'parley-slow-clients-'))
  world = await createWorld({
    roles: ['gateway', 'console', 'matcher'],
    env: { PARLEY_CONSOLE_PORT: '0', PARLEY_MATCHER_PORT: '0', PARLEY_MATCHER_DIR: directory },
  })
  const { url, consoleUrl, matcherUrl, opsUrl } = world.running
  for (const [name, at] of Object.entries({ gateway: url, console: consoleUrl, matcher: matcherUrl, ops: opsUrl }))
    servers.set(name, await serverAt(String(at)))
})
after(async () => {
  await world.close()
  await rm(directory, { recursive: true })
})

/** Finds the server of this process that answers at the address. */
async function serverAt(url: string): Promise<Server> {
  let found: Server | undefined
  const onRequest = (message: unknown) => void (found = (message as { server: Server }).server)
  diagnostics.subscribe('http.server.request.start', onRequest)
  await (await fetch(url, { headers: { connection: 'close' } })).arrayBuffer()
  diagnostics.unsubscribe('http.server.request.start', onRequest)
  return found ?? assert.fail(`nobody answered at ${url}`)
}

const head = (...headers: string[]) => ['POST /match HTTP/1.1', 'host: parley', ...headers, '', ''].join('\r\n')
const whole = 'GET /nothing-here HTTP/1.1\r\nhost: parley\r\n\r\n'
const body = ['content-type: application/json', 'content-length: 100']

/** Everything that a client sends before it falls silent, by name. */
const ATTACKS: Record<string, string> = {
  nothing: '',
  'half a line': 'POST /match HT',
  'headers without an end': 'POST /match HTTP/1.1\r\nhost: parley\r\n',
  'a request, and half of another': `${whole}GET / HTTP/1.1\r\nhost:`,
  'headers and no body': head(...body),
  'headers and half a body': `${head(...body)}{"half":`,
  'a chunked body without an end': `${head('content-type: application/json', 'transfer-encoding: chunked')}5\r\n{"a":`,
}

/** Sends, and from then on neither sends more nor closes its side, whatever the server does. Ends when the server has let
 * go of the connection. */
async function attack(server: Server, sent: string): Promise<void> {
  const { port } = server.address() as { port: number }
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  await once(socket, 'connect')
  const far = await acceptedFrom(server, socket)
  socket.write(sent)
  socket.resume()
  await until(() => far.destroyed, ENDED_WITHIN_MS)
  socket.destroy()
}

/** By both ports: two connections may come from the same one, when they lead to different servers. */
const accepted = new Map<string, Socket>()
const nameOf = (serverPort?: number, clientPort?: number) => `${serverPort} from ${clientPort}`
async function acceptedFrom(server: Server, { localPort }: Socket): Promise<Socket> {
  const { port } = server.address() as { port: number }
  const name = nameOf(port, localPort)
  await until(() => accepted.has(name))
  return accepted.get(name) ?? assert.fail('not accepted')
}

test('every server gives a request 10 s for its headers and 30 s in all, and ends what exceeds that', async () => {
  for (const [name, server] of servers) {
    const { headersTimeout, requestTimeout } = server
    assert.deepEqual({ headersTimeout, requestTimeout }, { headersTimeout: 10_000, requestTimeout: 30_000 }, name)
    server.headersTimeout = SHORT_HEADERS_MS
    server.requestTimeout = SHORT_REQUEST_MS
    server.on('connection', (far: Socket) => accepted.set(nameOf(far.localPort, far.remotePort), far))
  }
  const keys = Object.entries(world.project.headers).map(([key, value]) => `${key}: ${value}`)
  const attacks = {
    ...ATTACKS,
    'valid keys and no body': head(...body, ...keys).replace('/match', '/v1/chat/completions'),
  }
  const left: string[] = []
  const underAttack = [...servers].flatMap(([name, server]) =>
    Object.entries(attacks).map(([what, sent]) => attack(server, sent).catch(() => left.push(`${name}: ${what}`))),
  )
  await Promise.all(underAttack)
  assert.deepEqual(left, [], 'connections that are still open')
})

test('a request that is refused before its body has come gets one answer, also when the body then breaks off', async () => {
  const { port } = servers.get('gateway')!.address() as { port: number }
  const endings = { 'the connection ends': '', 'a chunk is none': 'no size\r\n' }
  for (const [name, rest] of Object.entries(endings)) {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).setEncoding('latin1')
    let received = ''
    socket.on('data', (text: string) => (received += text)).on('error', () => {})
    const ended = once(socket, 'end')
    socket.write(
      'POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n',
    )
    await until(() => received.includes('keys_missing') || received.includes('"statusCode":401'))
    socket.write(rest)
    socket.end()
    await ended
    assert.equal(received.match(/HTTP\/1\.1 /g)?.length, 1, `${name}: ${received}`)
    socket.destroy()
  }
})
