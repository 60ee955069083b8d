/**
 * The built web app behind the console's own way of serving it, with an API that answers from a list. Requests are checked
 * and replies are made by the contract itself, so that neither can drift from what the real server takes and gives.
 */
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { STATUS_CODES } from 'node:http'
import { Readable } from 'node:stream'
import type { z } from 'zod'
import { contract, entryOf, type Contract, type ParamOf, type RouteKey } from '../../../src/console/contract.ts'
import { protectPages, sendFirstPage, serveWeb } from '../../../src/console/web.ts'
import { ParleyError } from '../../../src/rules/errors.ts'

/** The return value of a handler of the real server: with dates and bigints, which the contract turns into what is sent. */
export type Given<Key extends RouteKey> = z.input<Contract[Key]['reply']>

export interface Asked<Key extends RouteKey> {
  params: Record<ParamOf<Key>, string>
  query: Record<string, string>
  /** How often this route was asked before. */
  earlier: number
}
/** `never` answers: it stays under way. */
type Answer<Key extends RouteKey> = Given<Key> | ParleyError | 'never'
export type Replies = { [Key in RouteKey]?: Answer<Key> | ((asked: Asked<Key>) => Answer<Key>) }

export interface CannedConsole {
  url: string
  /** Sets the replies from now on; forgets the requests made before. */
  play(replies: Replies): void
  /**
   * Method, address and body of everything that the API was asked since. What was read at the same time is sorted; what the
   * page did not wait for any longer comes last.
   */
  requests(): string[]
  underWay(): number
  close(): Promise<void>
}

const REQUEST_ID = 'req_0197picture'
const ROUTES = (Object.keys(contract) as RouteKey[]).map((key) => {
  const [method = '', path = ''] = key.split(' ')
  const pattern = path.replaceAll('.', '\\.').replaceAll(/:(\w+)/g, '(?<$1>[^/]+)')
  return { key, method, pattern: new RegExp(`^${pattern}$`) }
})

interface Match {
  key: RouteKey
  params: Record<string, string>
}

function matchOf(method: string, path: string): Match | undefined {
  for (const { key, method: each, pattern } of ROUTES) {
    const found = each === method ? pattern.exec(path) : null
    if (!found) continue
    const params = Object.entries(found.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)])
    return { key, params: Object.fromEntries(params) as Record<string, string> }
  }
  return undefined
}

export async function openCannedConsole(webRoot: string, base: Replies): Promise<CannedConsole> {
  let replies: Replies = base
  let asked: { key: RouteKey; line: string }[] = []
  let hungUp: string[] = []
  const underWay = new Set<FastifyRequest>()
  const app = fastify({ forceCloseConnections: true })
  protectPages(app, false)
  serveWeb(app, webRoot)
  app.addHook('onRequest', (request, _reply, done) => {
    underWay.add(request)
    done()
  })
  app.addHook('onResponse', (request, _reply, done) => {
    underWay.delete(request)
    done()
  })
  app.setErrorHandler((error, _request, reply) => {
    const known = error instanceof ParleyError ? error : new ParleyError('internal', { message: String(error) })
    return refuse(known, reply)
  })
  app.setNotFoundHandler((request, reply) => {
    const [path = '', search = ''] = request.url.split('?')
    if (!path.startsWith('/api/')) return sendFirstPage(reply, webRoot)
    return answer(request, reply, path, Object.fromEntries(new URLSearchParams(search)))
  })

  function answer(request: FastifyRequest, reply: FastifyReply, path: string, query: Record<string, string>) {
    const found = matchOf(request.method, path)
    const body = request.body === undefined || request.body === null ? '' : ` ${JSON.stringify(request.body)}`
    const line = `${request.method} ${request.url}${body}`
    if (!found) throw new Error(`the contract has no ${line}`)
    const earlier = asked.filter(({ key }) => key === found.key).length
    asked.push({ key: found.key, line })
    checkRequest(found.key, query, request.body)
    if (isFile(found.key)) return reply.header('content-disposition', 'attachment').type('text/plain').send('a file')
    const given = givenTo(replies, { ...found, query, earlier })
    if (given === 'never') {
      underWay.delete(request)
      const list = hungUp
      reply.raw.once('close', () => list.push(`hung up: ${line}`))
      return reply.hijack()
    }
    if (given instanceof ParleyError) return refuse(given, reply)
    return send(found.key, given, reply)
  }

  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    url,
    play(next) {
      replies = { ...base, ...next }
      asked = []
      hungUp = []
    },
    requests: () => [...inOrder(asked.map(({ line }) => line)), ...hungUp],
    underWay: () => underWay.size,
    close: () => app.close(),
  }
}

/** 422, with what is wrong beside each field. */
export function wrongFields(fields: { path: string; message: string }[]): ParleyError {
  const [first] = fields
  return new ParleyError('invalid_value', { message: `${first?.path}: ${first?.message}`, fields })
}

/** As the real server does it, and with its words. */
function checkRequest(key: RouteKey, query: unknown, body: unknown): void {
  const entry = entryOf(key)
  for (const [schema, value, part] of [
    [entry.query, query, 'query'],
    [entry.body, body, 'body'],
  ] as const) {
    const result = schema?.safeParse(value)
    if (!result || result.success) continue
    throw wrongFields(
      result.error.issues.map(({ path, message }) => ({ path: path.map(String).join('.') || part, message })),
    )
  }
}

function isFile(key: RouteKey): boolean {
  const { format } = entryOf(key)
  return format !== undefined && format !== 'events'
}

function givenTo(replies: Replies, { key, ...asked }: Match & Omit<Asked<RouteKey>, 'params'>): unknown {
  const reply: unknown = replies[key]
  if (reply === undefined) throw new Error(`no reply is prepared for ${key}`)
  return typeof reply === 'function' ? (reply as (asked: unknown) => unknown)(asked) : reply
}

function send(key: RouteKey, given: unknown, reply: FastifyReply) {
  const { format, reply: schema } = entryOf(key)
  if (format === 'events') return reply.type('text/event-stream; charset=utf-8').send(Readable.from([given]))
  return reply.send(schema.parse(given))
}

function refuse(error: ParleyError, reply: FastifyReply) {
  const { status, code, message } = error
  const { fields, retryAfterSeconds } = error.options
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
  return reply
    .code(status)
    .header('x-request-id', REQUEST_ID)
    .send({ statusCode: status, message, error: STATUS_CODES[status], code, ...(fields && { fields }) })
}

/** Changes stay where they were; which of several reads comes first is chance. */
function inOrder(lines: readonly string[]): string[] {
  const sorted: string[] = []
  let reads: string[] = []
  for (const line of lines) {
    if (line.startsWith('GET ')) {
      reads.push(line)
      continue
    }
    sorted.push(...reads.toSorted(), line)
    reads = []
  }
  return [...sorted, ...reads.toSorted()]
}

/** Everything that is prepared is parsed before the first page is opened: a reply that the contract would not let out fails. */
export function checkReplies(replies: Replies): string[] {
  return Object.entries(replies).flatMap(([key, given]) => {
    if (typeof given === 'function' || given instanceof ParleyError || given === 'never') return []
    if (entryOf(key as RouteKey).format !== undefined) return []
    const result = entryOf(key as RouteKey).reply.safeParse(given)
    return result.success ? [] : [`${key}: ${result.error.message}`]
  })
}
