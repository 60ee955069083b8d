import fastify, { type FastifyInstance } from 'fastify'
import type { Metrics } from '../metrics.ts'
import { CLIENT_LIMITS } from '../rules/limits.ts'
import type { Readiness } from '../store/readiness.ts'

/** The answers for balancers and monitoring, on a port of its own that the internet does not reach. */
export interface Health {
  readiness(): Readiness | Promise<Readiness>
  readonly isDraining: boolean
}

export function createOpsServer(health: Health, metrics: Metrics): FastifyInstance {
  const app = fastify(CLIENT_LIMITS)
  // The process alone: were the store part of it, an outage of the store would restart every gateway.
  app.get('/healthz', () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    const { missing, warnings } = await health.readiness()
    const status = health.isDraining ? 'draining' : missing.length === 0 ? 'ready' : 'not ready'
    return reply.code(status === 'ready' ? 200 : 503).send({ status, missing, warnings })
  })
  app.get('/metrics', async (_request, reply) =>
    reply.header('content-type', metrics.registry.contentType).send(await metrics.registry.metrics()),
  )
  return app
}
