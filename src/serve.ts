import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { databaseUrlOf, LOGIN_VARIABLES, loginsFor, type Config } from './config.ts'
import type { ConsoleOptions } from './console/server.ts'
import { createCheckDomain } from './actions/projects/domain-check/check.ts'
import { createGateway, type Gateway } from './gateway/gateway.ts'
import { createOpsServer, type Health } from './gateway/ops.ts'
import { createServer } from './gateway/server.ts'
import { errorFields, type Log } from './platform/log.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import type { PasswordCost } from './platform/passwords.ts'
import { createSecrets, type Secrets } from './platform/secrets.ts'
import { matcherTokenOf } from './recommend/wire.ts'
import { openStore, type Db, type Store, type StoreOptions } from './store/database.ts'
import { createReachability } from './store/health.ts'
import { complaintOf, findStanding } from './store/database-logins.ts'
import { migrate, sentenceOfWait } from './store/migrate.ts'
import { createWorker } from './worker/worker.ts'

export const ROLES = ['gateway', 'worker', 'console', 'matcher'] as const
export type Role = (typeof ROLES)[number]

export interface Running {
  /** Where the gateway listens; undefined when that role does not run here. */
  url: string | undefined
  /** Where the console listens; undefined when that role does not run here. */
  consoleUrl: string | undefined
  /** Where the matcher listens; undefined when that role does not run here. */
  matcherUrl: string | undefined
  opsUrl: string
  /** Drains: finishes what runs, settles it, and ends. */
  stop(): Promise<void>
}

export interface ServeOptions {
  /** Serves the web app from another folder. */
  webRoot?: string
  /** How long a complete answer waits for a recommendation. */
  answerWaitMs?: number
  /** How long a new call waits for an answer of the store before it is answered 503. */
  storeWaitMs?: number
  /** What it costs to check a password. Nothing less than usual will do for people. */
  passwordCost?: PasswordCost
  /** How long a statement waits for a connection to the store. */
  poolWaitMs?: number
}

/** Wires the roles of one process together and starts them. */
export async function serve(
  config: Config,
  roles: readonly Role[],
  log: Log,
  options: ServeOptions = {},
): Promise<Running> {
  if (config.PARLEY_AUTO_MIGRATE) await migrateFirst(config.DATABASE_URL, log)
  const metrics = createMetrics()
  const stores = openStores(config, roles, log, options)
  const secrets = createSecrets(config.PARLEY_SECRET)
  const gateway = roles.includes('gateway')
    ? createGateway({
        store: stores.of('gateway'),
        log,
        metrics,
        secrets,
        ...gatewaySettingsOf(config),
        answerWaitMs: options.answerWaitMs,
        storeWaitMs: options.storeWaitMs,
      })
    : undefined
  const checkDomain = createCheckDomain({ dnsServers: config.PARLEY_DNS_SERVERS })
  const app = gateway && createServer(gateway)
  const consoleApp = roles.includes('console')
    ? await createConsole({
        db: stores.of('console').db,
        tenants: stores.of('console').tenants,
        log,
        metrics,
        secrets,
        checkDomain,
        ...consoleSettingsOf(config),
        webRoot: options.webRoot,
        passwordCost: options.passwordCost,
      })
    : undefined
  const matching = roles.includes('matcher')
    ? await createMatching(config, stores.of('matcher').db, log, metrics, secrets)
    : undefined
  const ops = createOpsServer(gateway ?? healthOf(roles, stores), metrics)
  const urls = await listen(config, ops, { app, consoleApp, matcherApp: matching?.app })
  // Only now: a process that finds its ports taken has done nothing yet.
  const worker = roles.includes('worker')
    ? createWorker({
        db: stores.of('worker').db,
        tenants: stores.of('worker').tenants,
        log,
        metrics,
        secrets,
        leaseMs: config.PARLEY_LEASE_MS,
        mail: { smtpUrl: config.PARLEY_SMTP_URL, from: config.PARLEY_MAIL_FROM },
        checkDomain,
        consoleUrl: config.PARLEY_CONSOLE_URL,
      })
    : undefined
  matching?.matcher.start()
  log.info({ roles, ...urls }, 'listening')

  return {
    ...urls,
    stop: once(async () => {
      worker?.stop()
      const ended = [consoleApp && close(consoleApp), matching && close(matching.app).then(matching.matcher.stop)]
      await Promise.all([gateway && app && drain(gateway, app, config), ...ended])
      await ops.close()
      await stores.close()
    }),
  }
}

function consoleSettingsOf(config: Config) {
  return {
    secretVersions: config.PARLEY_SECRET.map(({ version }) => version),
    installation: installationOf(config),
    trustedProxies: config.PARLEY_TRUSTED_PROXIES,
    ...paymentsOf(config),
  }
}

function gatewaySettingsOf(config: Config) {
  return {
    leaseMs: config.PARLEY_LEASE_MS,
    callsMax: config.PARLEY_CALLS_MAX,
    publicUrl: config.PARLEY_PUBLIC_URL,
    matcherUrl: config.PARLEY_MATCHER_URL,
  }
}

async function migrateFirst(databaseUrl: string, log: Log): Promise<void> {
  await migrate(databaseUrl, {
    onApplied: (migration) => log.info({ migration }, 'migrated'),
    onWait: (wait) => log.warn({ ...wait }, sentenceOfWait(wait)),
    onQueue: () => log.info('another process migrates the database: waiting for it to end'),
  })
}

interface Stores {
  of(role: Role): Store
  close(): Promise<void>
}

/** One for each login: roles that have none of their own share the owner's. */
function openStores(config: Config, roles: readonly Role[], log: Log, { poolWaitMs }: ServeOptions): Stores {
  const urls = new Set(roles.map((role) => databaseUrlOf(config, role)))
  const stores = new Map(
    [...urls].map((url) => [url, openStore({ ...storeOptionsOf(config, url, roles, log), poolWaitMs })]),
  )
  const storeOf = (role: Role) => {
    const store = stores.get(databaseUrlOf(config, role))
    if (!store) throw new Error(`${role} does not run here`)
    return store
  }
  const warned = warnOfLogins(roles, storeOf, log)
  return {
    of: storeOf,
    async close() {
      await warned
      await Promise.all([...stores.values()].map((store) => store.close()))
    },
  }
}

/** Of a process without a gateway. A matcher answers from its own disk; the others need the store for everything. */
function healthOf(roles: readonly Role[], stores: Stores): Health {
  const dbs = new Set(roles.filter((role) => role !== 'matcher').map((role) => stores.of(role).db))
  const isReached = [...dbs].map(createReachability)
  return {
    get isReady() {
      return Promise.all(isReached.map((look) => look())).then((answers) => answers.every(Boolean))
    },
    isDraining: false,
  }
}

/**
 * Says which roles run with a login that neither grants nor row security hold back, with that of another plane, or with one
 * that the store refuses.
 */
async function warnOfLogins(roles: readonly Role[], storeOf: (role: Role) => Store, log: Log): Promise<void> {
  const forTenants = roles.includes('console') ? 'console' : 'worker'
  for (const login of loginsFor(roles)) {
    const { db } = login === 'tenant' ? storeOf(forTenants).tenants : storeOf(login)
    try {
      const standing = await findStanding(db, login)
      const problem = complaintOf(standing, login)
      if (problem === undefined) continue
      const mend = `Set ${LOGIN_VARIABLES[login]} to a login of its own, as "parley database logins" makes them.`
      const isMighty = standing.isSuperuser || standing.isOwner
      log.warn(
        { plane: login, problem, mend },
        isMighty ? COULD_DO_ANYTHING : 'a plane has a login that is not its own',
      )
    } catch (error) {
      // The store may be away just now, and whoever starts it has other worries.
      const fields = errorFields(error)
      if (fields.problem !== undefined) log.error({ plane: login, ...fields }, 'a plane cannot use the database')
    }
  }
}

const COULD_DO_ANYTHING = 'a hostile statement could do anything to the database'

function storeOptionsOf(config: Config, url: string, roles: readonly Role[], log: Log): StoreOptions {
  const tenantUrl = databaseUrlOf(config, 'tenant')
  const own = roles.find((role) => config[LOGIN_VARIABLES[role]] === url)
  return {
    url,
    // A plane's own login may not act for tenants: where they have none, the owner does.
    tenantUrl: tenantUrl === url ? undefined : tenantUrl,
    urlFrom: own ? LOGIN_VARIABLES[own] : 'DATABASE_URL',
    tenantUrlFrom: config.PARLEY_TENANT_DATABASE_URL === undefined ? 'DATABASE_URL' : LOGIN_VARIABLES.tenant,
    applicationName: `parley ${roles.join(' ')}`,
    onConnectionError: (error) => log.warn(errorFields(error), 'lost a connection to the store'),
  }
}

async function listen(
  config: Config,
  ops: FastifyApp,
  { app, consoleApp, matcherApp }: Record<'app' | 'consoleApp' | 'matcherApp', FastifyApp | undefined>,
): Promise<Omit<Running, 'stop'>> {
  await ops.listen({ host: config.PARLEY_OPS_HOST, port: config.PARLEY_OPS_PORT })
  await app?.listen({ host: config.PARLEY_HOST, port: config.PARLEY_PORT })
  await consoleApp?.listen({ host: config.PARLEY_CONSOLE_HOST, port: config.PARLEY_CONSOLE_PORT })
  await matcherApp?.listen({ host: config.PARLEY_MATCHER_HOST, port: config.PARLEY_MATCHER_PORT })
  return {
    url: app && urlOf(app.server.address()),
    consoleUrl: consoleApp && urlOf(consoleApp.server.address()),
    matcherUrl: matcherApp && urlOf(matcherApp.server.address()),
    opsUrl: urlOf(ops.server.address()),
  }
}

function installationOf(config: Config): ConsoleOptions['installation'] {
  return {
    consoleUrl: config.PARLEY_CONSOLE_URL,
    gatewayUrl: config.PARLEY_PUBLIC_URL,
    gatewayInternalUrl: config.PARLEY_GATEWAY_INTERNAL_URL ?? config.PARLEY_PUBLIC_URL,
    cell: config.PARLEY_CELL,
    canPay: config.PARLEY_STRIPE_SECRET_KEY !== undefined && config.PARLEY_STRIPE_WEBHOOK_SECRET !== undefined,
    requiresApproval: config.PARLEY_REQUIRE_APPROVAL,
    trialCredit: config.PARLEY_TRIAL_CREDIT,
  }
}

function paymentsOf(config: Config): Pick<ConsoleOptions, 'stripe' | 'webhookSecret'> {
  const { PARLEY_STRIPE_SECRET_KEY: secretKey, PARLEY_STRIPE_API_BASE: apiBase } = config
  return {
    stripe: secretKey === undefined ? undefined : { secretKey, apiBase },
    webhookSecret: config.PARLEY_STRIPE_WEBHOOK_SECRET,
  }
}

/** Loaded only where it runs: Stripe's package takes time to load, and memory that gateways have better use for. */
async function createConsole(options: ConsoleOptions): Promise<FastifyApp> {
  const { createConsoleServer } = await import('./console/server.ts')
  return createConsoleServer(options)
}

/** Loaded only where it runs: the language tables and what surrounds the model take 0.3 s and 60 MB. */
async function createMatching(config: Config, db: Db, log: Log, metrics: Metrics, secrets: Secrets) {
  const { createMatcher } = await import('./matcher/matcher.ts')
  const { createMatcherServer } = await import('./matcher/server.ts')
  const matcher = createMatcher({ db, log, metrics, directory: config.PARLEY_MATCHER_DIR })
  return { matcher, app: createMatcherServer({ matcher, token: matcherTokenOf(secrets), log }) }
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
