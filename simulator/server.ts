/** An upstream that speaks the providers' wire formats over real sockets, says the same every time, and misbehaves on request. */
import { createServer as createHttpServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import { anthropic } from './anthropic.ts'
import { bedrock } from './bedrock.ts'
import { createCallLog } from './calls.ts'
import { createCaches } from './caches.ts'
import type { CallLog, SimulatedCall } from './calls.ts'
import { assertAllowed, createChat } from './chat.ts'
import type { Dialect } from './dialect.ts'
import { geminiEmbeddings, openaiEmbeddings } from './embeddings.ts'
import { gemini } from './gemini.ts'
import { MODELS, openai } from './openai.ts'
import { Refusal } from './refusal.ts'
import { vertex } from './vertex.ts'
import { PeerGone } from './wire.ts'

export interface Simulator {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  readonly port: number
  /** Newest last; the oldest are forgotten. */
  readonly calls: readonly SimulatedCall[]
  openSockets(): number
  openCalls(): number
  /** Forgets the calls, what is cached, and how often faults with `times` have struck. */
  reset(): void
  close(): Promise<void>
}

export interface SimulatorOptions {
  readonly port?: number
  readonly host?: string
  readonly seed?: number
  readonly tls?: { readonly key: string; readonly cert: string }
  /** Whether the providers cache prompts, and report it. Otherwise only what scripts say is reported. */
  readonly hasCaches?: boolean
  /** Told of each call that was accepted, when it begins. */
  readonly onCall?: ((call: SimulatedCall) => void) | undefined
}

const DIALECTS: readonly Dialect[] = [openai, openaiEmbeddings, anthropic, gemini, geminiEmbeddings, vertex, bedrock]

const SERVER_OPTIONS = {
  noDelay: true,
  // Longer than clients keep a pooled socket, so that none is closed just as a request is sent on it.
  keepAliveTimeout: 65_000,
  // A script in a header can carry a whole reply.
  maxHeaderSize: 64 * 1024,
}

export async function createSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { port = 0, host = '127.0.0.1', seed = 1, tls, onCall, hasCaches = false } = options
  const log = createCallLog()
  const chat = createChat(log, seed, { onCall, caches: hasCaches ? createCaches() : undefined })
  const server: Server = tls ? createHttpsServer({ ...SERVER_OPTIONS, ...tls }) : createHttpServer(SERVER_OPTIONS)
  const sockets = socketsOf(server)

  function reset(): void {
    log.clear()
    chat.reset()
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? ''
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    const dialect = DIALECTS.find((candidate) => candidate.serves(method, path))
    try {
      if (dialect) await chat.answer(request, response, dialect)
      else respondJson(response, 200, resourceAt(`${method} ${path}`, request, { log, sockets, reset }))
    } catch (error) {
      if (error instanceof PeerGone) return
      if (response.headersSent) throw error
      const refusal = error instanceof Refusal ? error : new Refusal(500, `the simulator is broken: ${String(error)}`)
      // The rest of a request that was refused before its end must not be read as the next one.
      if (!request.complete) response.setHeader('connection', 'close')
      respondJson(response, refusal.status, (dialect ?? openai).errorBody(refusal.status, refusal.message))
    }
  }
  server.on('request', (request, response) => void serve(request, response))

  const listeningPort = await listen(server, port, host)
  return {
    url: `${tls ? 'https' : 'http'}://${host}:${listeningPort}`,
    port: listeningPort,
    calls: log.calls,
    openSockets: () => sockets.size,
    openCalls: () => log.running(),
    reset,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

function socketsOf(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return sockets
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // Ten thousand clients may connect at once.
    server.listen({ port, host, backlog: 4096 }, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : port)
    })
  })
}

/** Everything but chat. */
function resourceAt(
  route: string,
  request: IncomingMessage,
  simulator: { log: CallLog; sockets: ReadonlySet<Socket>; reset: () => void },
): unknown {
  const { log, sockets, reset } = simulator
  switch (route) {
    case 'GET /v1/models':
      assertAllowed(openai.credentialIn(request.headers, ''), openai)
      return MODELS
    case 'GET /_simulator/calls':
      return log.calls.map((call) => ({ ...call, authorization: undefined }))
    case 'GET /_simulator/stats':
      return { openSockets: sockets.size, openCalls: log.running(), total: log.total() }
    case 'POST /_simulator/reset':
      reset()
      return {}
    default:
      throw new Refusal(404, `the simulator does not serve ${route}`)
  }
}

function respondJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}
