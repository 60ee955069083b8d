/** One request over a real socket, from an address of one's own. */
import { Agent, request, type IncomingMessage } from 'node:http'

export interface Caller {
  send(url: string, what?: Sent): Promise<Received>
  close(): void
}

export interface Sent {
  method?: string
  headers?: Record<string, string>
  body?: string | Buffer
  withinMs?: number
  /** Looks at the answer in another way than reading it to its end. */
  read?: (response: IncomingMessage) => Promise<string>
  signal?: AbortSignal
}

export interface Received {
  /** Or why there was none, such as ECONNRESET. */
  status: number | string
  text: string
}

const ANSWER_WITHIN_MS = 10_000

/** Linux has all of 127.0.0.0/8, so that who floods a server can come from elsewhere than who does not. */
export function createCaller(localAddress: string): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity, localAddress })
  return {
    send: (url, sent = {}) => send(agent, url, sent),
    close: () => agent.destroy(),
  }
}

function send(agent: Agent, url: string, { method, headers, body, withinMs, read, signal }: Sent): Promise<Received> {
  return new Promise((resolve) => {
    const end = (status: number | string, text = '') => {
      clearTimeout(timer)
      resolve({ status, text })
    }
    const outgoing = request(url, {
      agent,
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      ...(signal && { signal }),
      headers: {
        ...headers,
        ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      },
    })
    const timer = setTimeout(() => {
      end('late')
      outgoing.destroy()
    }, withinMs ?? ANSWER_WITHIN_MS)
    outgoing.on('response', (response) => {
      const status = response.statusCode ?? 0
      response.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message))
      void (read ?? textOf)(response).then(
        (text) => end(response.complete || read ? status : 'cut', text),
        (error: NodeJS.ErrnoException) => end(error.code ?? error.message),
      )
    })
    outgoing.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message))
    outgoing.end(body)
  })
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of response.setEncoding('utf8')) text += String(piece)
  return text
}
