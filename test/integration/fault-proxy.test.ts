import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { after, before, beforeEach, test } from 'node:test'
import { createFaultProxy, type ConnectionFault, type FaultProxy } from '../support/fault-proxy.ts'

/** Says back what it hears, and how its connections ended. */
let echo: Server
let endings: string[]
let received: string
let proxy: FaultProxy

before(async () => {
  echo = createServer((socket) => {
    socket.on('error', (error: NodeJS.ErrnoException) => endings.push(String(error.code)))
    socket.on('end', () => endings.push('end'))
    socket.on('data', (bytes) => (received += bytes.toString()))
    socket.pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(echo, 'listening')
  proxy = await createFaultProxy({ host: '127.0.0.1', port: (echo.address() as AddressInfo).port })
})
beforeEach(() => {
  endings = []
  received = ''
  proxy.faultFor = () => ({})
})
after(async () => {
  await proxy.close()
  echo.close()
})

interface Client {
  socket: Socket
  readonly heard: string
  /** `end`, or the code of the error. */
  ending: Promise<string>
}

async function dial(fault: ConnectionFault = {}): Promise<Client> {
  proxy.faultFor = () => fault
  const socket = connect(proxy.port, '127.0.0.1')
  let heard = ''
  socket.setEncoding('utf8').on('data', (text: string) => (heard += text))
  const ending = new Promise<string>((resolve) => {
    socket.on('end', () => resolve('end'))
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)))
  })
  await once(socket, 'connect')
  return {
    socket,
    get heard() {
      return heard
    },
    ending,
  }
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 5_000
  while (!condition()) {
    assert.ok(performance.now() < deadline, `not true in time: ${condition.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

test('without a fault everything passes, in order and whole, and an end is passed on as an end', async () => {
  const client = await dial()
  const text = Array.from({ length: 20_000 }, (_, n) => `${n} `).join('')
  client.socket.end(text)
  assert.equal(await client.ending, 'end')
  assert.equal(client.heard, text)
  assert.deepEqual(endings, ['end'])
})

test('a delay holds every piece back and changes nothing else', async () => {
  const client = await dial({ delayMs: 60 })
  const startedMs = performance.now()
  client.socket.end('slow')
  assert.equal(await client.ending, 'end')
  assert.equal(client.heard, 'slow')
  assert.ok(performance.now() - startedMs >= 115, 'there and back')
})

test('a cut lets exactly the asked number of bytes through', async () => {
  const byEnd = await dial({ cutAfter: { bytes: 4, of: 'answer', how: 'fin' } })
  byEnd.socket.write('answered in part')
  assert.equal(await byEnd.ending, 'end')
  assert.equal(byEnd.heard, 'answ')

  const byReset = await dial({ cutAfter: { bytes: 3, of: 'request', how: 'rst' } })
  byReset.socket.write('asked in part')
  assert.equal(await byReset.ending, 'ECONNRESET')
  assert.equal(byReset.heard, '')
  await until(() => endings.includes('ECONNRESET'))
})

test('a paused proxy keeps what was sent and delivers it later, although its sender is gone', async () => {
  const client = await dial()
  const gone = await dial()
  proxy.pause()
  gone.socket.end('stale')
  gone.socket.destroySoon()
  await new Promise((resolve) => setTimeout(resolve, 50))
  client.socket.write('waiting')
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(received + client.heard, '')
  proxy.resume()
  await until(() => received.length === 'stalewaiting'.length && client.heard === 'waiting')
  client.socket.destroy()
})

test('a black hole accepts and never answers, until it is cut', async () => {
  const client = await dial({ blackHole: true })
  client.socket.write('hello?')
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(client.heard, '')
  assert.equal(proxy.cut('rst'), 1)
  assert.equal(await client.ending, 'ECONNRESET')
  assert.equal(received, '', 'the server was never told')
})

test('what a client had sent when it lost its connection still arrives', async () => {
  const client = await dial()
  proxy.slow(100)
  client.socket.write('stale')
  await new Promise((resolve) => setTimeout(resolve, 30))
  assert.equal(proxy.cut('rst-client'), 1)
  assert.equal(await client.ending, 'ECONNRESET')
  assert.equal(received, '')
  await until(() => received === 'stale' && endings.includes('end'))
})

test('a cut ends the chosen connections only, and a server can come back elsewhere', async () => {
  const clients = [await dial(), await dial()]
  await until(() => proxy.openConnections === 2)
  let asked = 0
  assert.equal(
    proxy.cut('fin', () => asked++ === 0),
    1,
  )
  assert.equal(await clients[0]!.ending, 'end')
  clients[1]!.socket.end('still here')
  assert.equal(await clients[1]!.ending, 'end')
  assert.equal(clients[1]!.heard, 'still here')

  const { target } = proxy
  proxy.target = undefined
  const refused = await dial()
  assert.match(await refused.ending, /end|ECONNRESET/)
  proxy.target = target
  const back = await dial()
  back.socket.end('again')
  await back.ending
  assert.equal(back.heard, 'again')
})
