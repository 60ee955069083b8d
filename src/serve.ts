import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from './config.ts'
import type { ConsoleOptions } from './console/server.ts'
import { createGateway, type Gateway } from './gateway/gateway.ts'
import { createOpsServer } from './gateway/ops.ts'
import { createServer } from './gateway/server.ts'
import { errorFields, type Log } from './platform/log.ts'
import { createMetrics } from './platform/metrics.ts'
import { createSecrets } from './platform/secrets.ts'
import { openStore } from './store/database.ts'
import { migrate } from './store/migrate.ts'
import { createWorker } from './worker/worker.ts'

export const ROLES = ['gateway', 'worker', 'console'] as const
export type Role = (typeof ROLES)[number]

export interface Running {
  /** Where the gateway listens; undefined when that role does not run here. */
  url: string | undefined
  /** Where the console listens; undefined when that role does not run here. */
  consoleUrl: string | undefined
  opsUrl: string
  /** Drains: finishes what runs, settles it, and ends. */
  stop(): Promise<void>
}

/** Wires the roles of one process together and starts them. */
export async function serve(config: Config, roles: readonly Role[], log: Log): Promise<Running> {
  if (config.PARLEY_AUTO_MIGRATE) {
    const { applied } = await migrate(config.DATABASE_URL)
    if (applied.length > 0) log.info({ applied }, 'migrated')
  }
  const metrics = createMetrics()
  const store = openStore({
    url: config.DATABASE_URL,
    applicationName: `parley ${roles.join(' ')}`,
    onConnectionError: (error) => log.warn(errorFields(error), 'lost a connection to the store'),
  })
  const gateway = roles.includes('gateway')
    ? createGateway({
        store,
        log,
        metrics,
        secrets: createSecrets(config.PARLEY_SECRET),
        leaseMs: config.PARLEY_LEASE_MS,
        callsMax: config.PARLEY_CALLS_MAX,
      })
    : undefined
  const worker = roles.includes('worker')
    ? createWorker({ db: store.db, log, metrics, leaseMs: config.PARLEY_LEASE_MS })
    : undefined
  const app = gateway && createServer(gateway)
  const consoleApp = roles.includes('console')
    ? await createConsole({ db: store.db, log, metrics, webhookSecret: config.PARLEY_STRIPE_WEBHOOK_SECRET })
    : undefined
  const ops = createOpsServer(gateway ?? { isReady: true, isDraining: false }, metrics)
  await ops.listen({ host: config.PARLEY_OPS_HOST, port: config.PARLEY_OPS_PORT })
  await app?.listen({ host: config.PARLEY_HOST, port: config.PARLEY_PORT })
  await consoleApp?.listen({ host: config.PARLEY_CONSOLE_HOST, port: config.PARLEY_CONSOLE_PORT })
  const url = app && urlOf(app.server.address())
  const consoleUrl = consoleApp && urlOf(consoleApp.server.address())
  const opsUrl = urlOf(ops.server.address())
  log.info({ roles, url, consoleUrl, opsUrl }, 'listening')

  return {
    url,
    consoleUrl,
    opsUrl,
    stop: once(async () => {
      worker?.stop()
      await Promise.all([gateway && app && drain(gateway, app, config), consoleApp && close(consoleApp)])
      await ops.close()
      await store.close()
    }),
  }
}

/** Loaded only where it runs: Stripe's package takes time to load, and memory that gateways have better use for. */
async function createConsole(options: ConsoleOptions): Promise<FastifyApp> {
  const { createConsoleServer } = await import('./console/server.ts')
  return createConsoleServer(options)
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => (done ??= work())
}

type FastifyApp = ReturnType<typeof createServer>

const LAST_BYTES_MS = 1_000

/** Balancers get time to notice before the port closes; running answers get time to end. */
async function drain(gateway: Gateway, app: FastifyApp, config: Config): Promise<void> {
  gateway.isDraining = true
  gateway.metrics.draining.set(1)
  gateway.log.info({ running: gateway.running.size }, 'draining')
  await sleep(config.PARLEY_DRAIN_DELAY_MS)
  const closed = app.close()
  // A kept-alive connection whose answer ends after the port was closed would hold the process for another 75 s.
  const closing = setInterval(() => app.server.closeIdleConnections(), 50)
  await gateway.stop(config.PARLEY_DRAIN_GRACE_MS)
  // Every call is settled.
  await close(app, closed)
  clearInterval(closing)
}

/** Last bytes get a moment to leave. Connections that never sent a request would stay longer. */
async function close(app: FastifyApp, closed: PromiseLike<unknown> = app.close()): Promise<void> {
  await Promise.race([closed, sleep(LAST_BYTES_MS)])
  app.server.closeAllConnections()
  await closed
}

function urlOf(address: AddressInfo | string | null): string {
  if (address === null || typeof address === 'string') throw new Error('not listening on a port')
  return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
}
