import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errorFields, type Log } from '../../platform/log.ts'
import { MINUTE_MS, SECOND_MS } from '../../rules/durations.ts'
import { sendFirstPage } from '../web.ts'
import type { Installation } from '../world.ts'
import { frontPage, type FrontFigures } from './front.ts'
import { createKept } from './kept.ts'
import { statusJsonOf, statusOf, type Measurements } from './status.ts'
import { statusPage } from './status-html.ts'
import { openTemplate } from './template.ts'
import { createVisitors } from './visitors.ts'

/**
 * The pages for strangers: the front page, and where the operator wants it the status page. No script runs on them, nothing is
 * read of a visitor but whether they have a session, and nothing in them is about one publisher.
 */
export interface PublicPages {
  installation: Pick<Installation, 'gatewayUrl' | 'publicPages' | 'sandboxDomain'>
  webRoot: string
  log: Log
  /** How a session's cookie begins. */
  sessionCookie: string
  findFigures: () => Promise<FrontFigures>
  measure: (now: Date) => Promise<Measurements>
  now?: () => Date
  /** A monotonic clock, which nobody can set back. */
  elapsedMs?: () => number
}

const FIGURES_MS = 5 * MINUTE_MS
const STATUS_MS = 10 * SECOND_MS
const HTML = 'text/html; charset=utf-8'

export function publicPages(app: FastifyInstance, options: PublicPages): void {
  const { installation, webRoot, log, sessionCookie, now = () => new Date() } = options
  const elapsedMs = options.elapsedMs ?? (() => performance.now())
  const { figures: tellsFigures, status: hasStatus, providers: namesProviders } = installation.publicPages
  const front = openTemplate(webRoot, 'front.html')
  const visitors = createVisitors(elapsedMs)
  const figures = createKept(FIGURES_MS, options.findFigures, elapsedMs)

  app.get('/', async (request, reply) => {
    // A visitor whose session has ended is asked to sign in by the app, as on every other page of it.
    if (front === undefined || hasCookie(request, sessionCookie)) return sendFirstPage(reply, webRoot)
    visitors.admit(request.ip)
    const told = tellsFigures ? await figures().catch(withoutFigures) : undefined
    return send(reply, HTML, 'private, no-cache', frontPage(front, installation, told))
  })

  function withoutFigures(error: unknown): undefined {
    log.warn(errorFields(error), 'the front page is shown without figures')
  }

  if (!hasStatus) return
  const status = openTemplate(webRoot, 'status.html')
  const measurements = createKept(STATUS_MS, () => options.measure(now()), elapsedMs)
  const current = async (request: FastifyRequest) => {
    visitors.admit(request.ip)
    return statusOf(await measurements(), now(), namesProviders)
  }
  const forAMoment = `public, max-age=${STATUS_MS / SECOND_MS}`
  app.get('/status', async (request, reply) =>
    status === undefined
      ? sendFirstPage(reply, webRoot)
      : send(reply, HTML, forAMoment, statusPage(status, await current(request))),
  )
  app.get('/status.json', async (request, reply) => {
    // Other pages may show it: there is nothing in it that is not for everybody.
    reply.headers({ 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' })
    const json = JSON.stringify(statusJsonOf(await current(request), namesProviders))
    return send(reply, 'application/json; charset=utf-8', forAMoment, json)
  })
}

function send(reply: FastifyReply, type: string, cacheControl: string, body: string): FastifyReply {
  return reply.headers({ 'cache-control': cacheControl, vary: 'cookie' }).type(type).send(body)
}

function hasCookie({ headers }: FastifyRequest, name: string): boolean {
  return (headers.cookie ?? '').split(/;\s*/).some((cookie) => cookie.startsWith(`${name}=`))
}
