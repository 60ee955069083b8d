import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { encoderDirectoryOf, gatewayLimitsOf, type Config } from './config.ts'
import type { ConsoleOptions } from './console/server.ts'
import { createFetchFeed } from './actions/offers/fetch-feed.ts'
import { createCheckDomain } from './actions/projects/domain-check/check.ts'
import type { PublicConnectionOptions } from './actions/public-connection.ts'
import { createDomainResolver } from './actions/projects/domain-check/resolver.ts'
import { createGateway, type Gateway } from './gateway/gateway.ts'
import { createOpsServer } from './gateway/ops.ts'
import { createServer } from './gateway/server.ts'
import type { Log } from './platform/log.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import type { PasswordCost } from './platform/passwords.ts'
import { createSecrets, type Secrets } from './platform/secrets.ts'
import { SECOND_MS } from './rules/durations.ts'
import { healthOf } from './readiness.ts'
import { matcherTokensOf } from './recommend/wire.ts'
import type { Db } from './store/database.ts'
import { migrate, sentenceOfWait } from './store/migrate.ts'
import { openImportStore, openStores, refuseTooNew, type Stores } from './stores.ts'
import { createPostWebhook } from './worker/post-webhook.ts'
import { createWorker, type Worker } from './worker/worker.ts'

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
  /** The cost of checking a password. For people, nothing less than the usual will do. */
  passwordCost?: PasswordCost
  /** How long a statement waits for a connection to the store. */
  poolWaitMs?: number
  /** Tests have no other machine than their own, which nobody may otherwise be led to. */
  publicConnections?: Pick<PublicConnectionOptions, 'isAllowed' | 'ca'>
}

/** Wires the roles of one process together and starts them. */
export async function serve(
  config: Config,
  roles: readonly Role[],
  log: Log,
  options: ServeOptions = {},
): Promise<Running> {
  const code = await loadPlanes(roles)
  if (config.PARLEY_AUTO_MIGRATE) await migrateFirst(config.DATABASE_URL, log)
  const metrics = createMetrics()
  const stores = openStores(config, roles, log, options.poolWaitMs)
  await refuseTooNew(stores, roles, log)
  const secrets = createSecrets(config.PARLEY_SECRET)
  await orClose(stores, stores.proveSecrets(secrets, metrics))
  const gateway = roles.includes('gateway')
    ? createGateway({
        store: stores.of('gateway'),
        log,
        metrics,
        secrets,
        ...gatewaySettingsOf(config, options),
      })
    : undefined
  const checkDomain = createCheckDomain({ dnsServers: config.PARLEY_DNS_SERVERS })
  const app = gateway && createServer(gateway, serverSettingsOf(config))
  const consoleApp = code.console?.createConsoleServer({
    db: stores.of('console').db,
    tenants: stores.of('console').tenants,
    log,
    metrics,
    secrets,
    checkDomain,
    ...consoleSettingsOf(config, options),
    webRoot: options.webRoot,
    passwordCost: options.passwordCost,
  })
  const matching = code.matcher
    ? createMatching(code.matcher, config, stores.of('matcher').db, log, metrics, secrets)
    : undefined
  let worker: Worker | undefined
  const planes = { gateway, matcher: matching?.matcher, runningWorker: () => worker }
  const ops = createOpsServer(healthOf({ ...planes, roles, storeOf: stores.of }), metrics)
  const urls = await listen(config, ops, { app, consoleApp, matcherApp: matching?.app })
  // Only now: a process that finds its ports taken has done nothing yet.
  worker = roles.includes('worker')
    ? createWorker({
        db: stores.of('worker').db,
        tenants: stores.of('worker').tenants,
        log,
        metrics,
        secrets,
        checkDomain,
        ...workerSettingsOf(config, options),
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

function consoleSettingsOf(config: Config, { publicConnections }: ServeOptions) {
  const resolver = createDomainResolver(config.PARLEY_DNS_SERVERS)
  return {
    fetchFeed: createFetchFeed({ resolver, ...publicConnections, ...BRIEFLY }),
    secretVersions: config.PARLEY_SECRET.map(({ version }) => version),
    installation: installationOf(config),
    trustedProxies: config.PARLEY_TRUSTED_PROXIES,
    matcherUrl: config.PARLEY_MATCHER_URL,
    stripe: stripeOf(config),
    webhookSecret: config.PARLEY_STRIPE_WEBHOOK_SECRET,
  }
}

function gatewaySettingsOf(config: Config, { answerWaitMs, storeWaitMs }: ServeOptions) {
  return {
    leaseMs: config.PARLEY_LEASE_MS,
    callsMax: config.PARLEY_CALLS_MAX,
    ...gatewayLimitsOf(config),
    publicUrl: config.PARLEY_PUBLIC_URL,
    matcherUrl: config.PARLEY_MATCHER_URL,
    dataCentreNetworks: config.PARLEY_DATA_CENTRE_NETWORKS,
    answerWaitMs,
    storeWaitMs,
  }
}

function serverSettingsOf(config: Config) {
  const addresses = { publicUrl: config.PARLEY_PUBLIC_URL, consoleUrl: config.PARLEY_CONSOLE_URL }
  return { trustedProxies: config.PARLEY_TRUSTED_PROXIES, addresses }
}

/** While somebody waits at a page. */
const BRIEFLY = { headMs: 10 * SECOND_MS, pieceMs: 5 * SECOND_MS, wholeMs: 20 * SECOND_MS }

function workerSettingsOf(config: Config, { publicConnections }: ServeOptions) {
  const resolver = createDomainResolver(config.PARLEY_DNS_SERVERS)
  return {
    postWebhook: createPostWebhook({ resolver }),
    fetchFeed: createFetchFeed({ resolver, ...publicConnections }),
    openImportStore: () => openImportStore(config),
    leaseMs: config.PARLEY_LEASE_MS,
    mail: { smtpUrl: config.PARLEY_SMTP_URL, from: config.PARLEY_MAIL_FROM },
    consoleUrl: config.PARLEY_CONSOLE_URL,
    stripe: stripeOf(config),
    tellsFigures: config.PARLEY_PUBLIC_FIGURES,
    kept: { conversations: config.PARLEY_CONVERSATIONS_KEPT_DAYS, mails: config.PARLEY_MAILS_KEPT_DAYS },
  }
}

async function migrateFirst(databaseUrl: string, log: Log): Promise<void> {
  const { newerFunctions, editedFunctions } = await migrate(databaseUrl, {
    onApplied: (migration) => log.info({ migration }, 'migrated'),
    onFunctionApplied: (name) => log.info({ function: name }, 'applied a function'),
    onWait: (wait) => log.warn({ ...wait }, sentenceOfWait(wait)),
    onQueue: () => log.info('another process migrates the database: waiting for it to end'),
  })
  if (newerFunctions.length > 0) {
    log.warn(
      { functions: newerFunctions, mend: 'If that version is gone for good, run: parley migrate --functions' },
      'another version has applied other functions: they were left as they are',
    )
  }
  if (editedFunctions.length > 0) {
    log.warn(
      { functions: editedFunctions, mend: 'Run: parley migrate --functions' },
      'functions differ from what Parley applied',
    )
  }
}

async function orClose(stores: Stores, start: Promise<void>): Promise<void> {
  try {
    await start
  } catch (error) {
    await stores.close()
    throw error
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
    sandboxDomain: config.PARLEY_SANDBOX_DOMAIN,
    publicPages: {
      figures: config.PARLEY_PUBLIC_FIGURES,
      status: config.PARLEY_STATUS_PAGE,
      providers: config.PARLEY_STATUS_PROVIDERS,
    },
  }
}

function stripeOf(config: Config): ConsoleOptions['stripe'] {
  const { PARLEY_STRIPE_SECRET_KEY: secretKey, PARLEY_STRIPE_API_BASE: apiBase, PARLEY_STRIPE_TAX: hasTax } = config
  return secretKey === undefined ? undefined : { secretKey, apiBase, hasTax }
}

/**
 * Loaded only where it runs: Stripe's package and the language tables take time, and memory that gateways have better use for.
 * And before anything asks the database: loading holds up the process, the first time for seconds, and whatever waited for a
 * connection then was told that none came free in time.
 */
async function loadPlanes(roles: readonly Role[]) {
  return {
    console: roles.includes('console') ? await import('./console/server.ts') : undefined,
    matcher: roles.includes('matcher')
      ? { ...(await import('./matcher/matcher.ts')), ...(await import('./matcher/server.ts')) }
      : undefined,
  }
}

type MatcherCode = NonNullable<Awaited<ReturnType<typeof loadPlanes>>['matcher']>

function createMatching(code: MatcherCode, config: Config, db: Db, log: Log, metrics: Metrics, secrets: Secrets) {
  const directories = { directory: config.PARLEY_MATCHER_DIR, encoderDirectory: encoderDirectoryOf(config) }
  const matcher = code.createMatcher({ db, log, metrics, ...directories })
  return { matcher, app: code.createMatcherServer({ matcher, tokens: matcherTokensOf(secrets), log }) }
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
