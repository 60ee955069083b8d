import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import type { Certificate } from './certificates.ts'

export const BEHAVIOURS = ['ok', 'error', 'hang', 'redirect', 'cut', 'garbage', 'endless', 'reset', 'upgrade'] as const
/** `slow` takes it, and then says little for long. */
export type Behaviour = (typeof BEHAVIOURS)[number] | 'slow'

/** Behaviours that answer 2xx, no matter what they do afterwards. */
export const ACCEPTING: ReadonlySet<Behaviour> = new Set(['ok', 'cut', 'endless'])

export interface Received {
  path: string
  headers: Record<string, string>
  body: string
  behaviour: Behaviour
  fromMs: number
  /** When the other side had hung up. */
  toMs: number
}

/** An endpoint over raw TLS, so that it can also answer what no HTTP server would. */
export async function createReceiver(
  certificate: Certificate,
  { behave, redirectTo }: { behave: (request: { body: string }) => Behaviour; redirectTo: () => string },
) {
  const received: Received[] = []
  const sockets = new Set<TLSSocket>()
  const server = createServer(certificate, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    void serveOne(socket)
  })
  // A client that refuses the certificate, or is gone before it is shown.
  server.on('tlsClientError', () => {})

  async function serveOne(socket: TLSSocket): Promise<void> {
    const request = await readRequest(socket)
    if (!request) return
    const one = { ...request, behaviour: behave(request), fromMs: performance.now(), toMs: Infinity }
    received.push(one)
    socket.on('close', () => (one.toMs = performance.now()))
    ANSWERS[one.behaviour](socket, redirectTo())
  }

  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    received,
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

const ANSWERS: Record<Behaviour, (socket: TLSSocket, redirectTo: string) => void> = {
  ok: (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'),
  error: (socket) => socket.end('HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n'),
  hang: () => {},
  redirect: (socket, to) => socket.end(`HTTP/1.1 302 Found\r\nlocation: ${to}\r\ncontent-length: 0\r\n\r\n`),
  cut: (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nonly this'),
  garbage: (socket) => socket.end('HTTP/1.1 200 OK\r\n\u{0}: \u{1}\u{2}\r\nno colon at all\r\n\r\n'),
  endless(socket) {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    const more = setInterval(() => socket.write('x'.repeat(8_192)), 1)
    socket.on('close', () => clearInterval(more))
  },
  slow(socket) {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n')
    const more = setInterval(() => socket.write('x'), 50)
    socket.on('close', () => clearInterval(more))
  },
  reset: (socket) => socket.destroy(),
  upgrade: (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
}

async function readRequest(socket: TLSSocket): Promise<Pick<Received, 'path' | 'headers' | 'body'> | undefined> {
  let text = ''
  try {
    for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      text += chunk.toString('latin1')
      const [head = '', body] = text.split('\r\n\r\n')
      if (body === undefined) continue
      const [first = '', ...lines] = head.split('\r\n')
      const headers = Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
      )
      if (body.length < Number(headers['content-length'])) continue
      return { path: first, headers, body: Buffer.from(body, 'latin1').toString('utf8') }
    }
  } catch {
    // The client has left.
  }
  return undefined
}
