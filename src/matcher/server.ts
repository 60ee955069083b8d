import { timingSafeEqual } from 'node:crypto'
import fastify, { type FastifyInstance } from 'fastify'
import type { z } from 'zod'
import { QueueFull } from '../platform/fair-queue.ts'
import { errorFields, type Log } from '../platform/log.ts'
import { rehearsalEndSchema, rehearsalRequestSchema } from '../recommend/rehearsal-wire.ts'
import {
  hintPreviewRequestSchema,
  judgeRequestSchema,
  matchRequestSchema,
  REQUEST_BYTES_MAX,
} from '../recommend/wire.ts'
import { CLIENT_LIMITS } from '../rules/limits.ts'
import type { Matcher } from './matcher.ts'
import { RehearsalBusy } from './rehearsals.ts'

/** The HTTP server that gateways ask. No word of a request is ever logged: it is what someone said. */
export interface MatcherServerOptions {
  matcher: Matcher
  /** Any of these opens it. */
  tokens: readonly string[]
  log: Log
}

export function createMatcherServer({ matcher, tokens, log }: MatcherServerOptions): FastifyInstance {
  const app = fastify({
    ...CLIENT_LIMITS,
    bodyLimit: REQUEST_BYTES_MAX,
    keepAliveTimeout: 75_000,
    forceCloseConnections: 'idle',
  })
  const expected = tokens.map((token) => Buffer.from(`Bearer ${token}`))

  app.addHook('onRequest', async (request, reply) => {
    const given = Buffer.from(request.headers.authorization ?? '')
    if (expected.some((token) => given.length === token.length && timingSafeEqual(given, token))) return
    return reply.code(401).send({ error: 'unauthorized' })
  })

  app.setErrorHandler((error, _request, reply) => {
    if (error instanceof QueueFull) return reply.code(503).send({ error: 'busy' })
    if (error instanceof RehearsalBusy) return reply.code(503).send({ error: error.reason })
    const { statusCode = 500 } = error as { statusCode?: number }
    if (statusCode >= 500) log.error(errorFields(error), 'a match failed')
    return reply.code(statusCode).send({ error: statusCode >= 500 ? 'failed' : 'refused' })
  })

  function answer<Body, Reply>(path: string, schema: z.ZodType<Body>, work: (body: Body) => Promise<Reply>): void {
    app.post(path, async (request, reply) => {
      const body = schema.safeParse(request.body)
      return body.success ? work(body.data) : reply.code(400).send({ error: 'invalid' })
    })
  }

  answer('/judge', judgeRequestSchema, (body) => matcher.judge(body))
  answer('/match', matchRequestSchema, (body) => matcher.match(body))
  app.post('/preview-hints', async (request, reply) => {
    const body = hintPreviewRequestSchema.safeParse(request.body)
    if (!body.success) return reply.code(400).send({ error: 'invalid' })
    return (await matcher.previewHints(body.data)) ?? reply.code(503).send({ error: 'unavailable' })
  })
  app.post('/rehearse', async (request, reply) => {
    const body = rehearsalRequestSchema.safeParse(request.body)
    if (!body.success) return reply.code(400).send({ error: 'invalid' })
    const gone = new AbortController()
    reply.raw.once('close', () => gone.abort())
    return (await matcher.rehearse(body.data, gone.signal)) ?? reply.code(503).send({ error: 'unavailable' })
  })
  answer('/rehearse/end', rehearsalEndSchema, async (body) => {
    matcher.endRehearsal(body)
    return {}
  })
  return app
}
