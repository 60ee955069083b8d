import type { Secrets } from '../../platform/secrets.ts'
import { CLOCK_DIFFERENCE_MS_MAX, clockAheadMs } from '../../rules/clock-difference.ts'
import { DAY_MS, MINUTE_MS } from '../../rules/durations.ts'
import { LONGEST_CALL_MS } from '../../rules/limits.ts'
import { classesBelow } from '../../rules/catalogue/margins.ts'
import { priceAt } from '../../rules/upstreams/routing.ts'
import { loadCatalogue } from '../../store/catalogue/catalogue.ts'
import type { Db } from '../../store/database.ts'
import { countCallers, countStuckHolds, serverFacts, tryToWrite } from '../../store/health.ts'
import { migrationState } from '../../store/migrate.ts'
import { listDeployments } from '../../store/catalogue/models.ts'
import { partitionDaysAhead } from '../../store/partitions.ts'
import { listProviders } from '../../store/catalogue/providers.ts'
import { sumAnomalies } from '../../store/billing/usage-anomalies.ts'
import { CliError, codeOf, DISK_FULL, NO_RIGHT } from '../failures.ts'
import { apiKeyOf, probe, probedModelOf, type ProbedModel } from '../catalogue/probe.ts'
import { keyRefusalText, type Provider } from '../catalogue/provider-keys.ts'
import { readStoredSettings } from '../catalogue/provider-settings.ts'

/** One line of `parley doctor`. A hint is no problem: an installation without a caller yet is healthy. */
export interface Finding {
  check: string
  state: 'ok' | 'problem' | 'hint' | 'skipped'
  detail: string
  /** The remedy. */
  mend?: string
}

const MAJOR_MIN = 15
const PARTITION_DAYS_MIN = 3
/** A worker sweeps every few seconds; what is still there this long after its lease, nobody sweeps. */
const SWEPT_WITHIN_MS = MINUTE_MS

export async function checkStore(db: Db): Promise<Finding[]> {
  const askedMs = Date.now()
  const { version, major, now, isReadOnly, isStandby } = await serverFacts(db)
  const answeredMs = Date.now()
  const differenceMs = Math.abs(clockAheadMs(now, { askedMs, answeredMs }))
  const isNewEnough = major >= MAJOR_MIN
  const isOnTime = differenceMs < CLOCK_DIFFERENCE_MS_MAX
  return [
    verdict(
      'store',
      isNewEnough,
      `PostgreSQL ${version}`,
      `Parley needs PostgreSQL ${MAJOR_MIN} or newer: upgrade it.`,
    ),
    verdict(
      'clock',
      isOnTime,
      `${(differenceMs / 1000).toFixed(1)} s away from the store's`,
      'Set the clocks of both machines with NTP: ids and prices depend on the time.',
    ),
    ...(isReadOnly ? [readOnly(isStandby)] : await checkRoom(db)),
  ]
}

/** A full disk answers everything that is asked, and takes nothing. */
async function checkRoom(db: Db): Promise<Finding[]> {
  try {
    await tryToWrite(db)
    return []
  } catch (error) {
    // This login may make no such table, which no plane does.
    if (codeOf(error) === NO_RIGHT) return []
    if (codeOf(error) !== DISK_FULL) throw error
    const mend = 'Make room: until there is some, calls are refused.'
    return [{ check: 'writing', state: 'problem', detail: "the database's disk is full", mend }]
  }
}

/** After a failover the old address may lead to a server that answers everything and takes nothing. */
function readOnly(isStandby: boolean): Finding {
  const check = 'writing'
  if (isStandby) {
    const mend = 'Point DATABASE_URL at the server that took over, or promote this one.'
    return { check, state: 'problem', detail: 'the store is a standby and takes no changes', mend }
  }
  const mend = 'Look for default_transaction_read_only in its configuration, of the database and of the login.'
  return { check, state: 'problem', detail: 'the store is read-only and takes no changes', mend }
}

export async function checkMigrations(databaseUrl: string): Promise<Finding[]> {
  const { pending, newer } = await migrationState(databaseUrl)
  const detail = pending.length === 0 ? 'all are applied' : `missing: ${pending.join(', ')}`
  const findings = [verdict('migrations', pending.length === 0, detail, 'Run: parley migrate')]
  if (newer.length === 0) return findings
  const others = `a newer version has migrated the database: ${newer.join(', ')}`
  const mend = 'This version works with those tables. Upgrade the remaining programs, then run their doctor.'
  return [...findings, { check: 'version', state: 'hint', detail: others, mend }]
}

/** Functions that are there, but not as this version has them. */
export async function checkFunctions(databaseUrl: string): Promise<Finding[]> {
  const { editedFunctions, newerFunctions } = await migrationState(databaseUrl)
  const again = 'parley migrate --functions'
  const edited = editedFunctions.map((name) =>
    verdict(`function ${name}`, false, 'differs from what Parley applied', `Run: ${again}`),
  )
  if (newerFunctions.length === 0) return edited
  const detail = `another version has applied its own: ${newerFunctions.join(', ')}`
  const mend = `This is fine while that version still runs. If it is gone for good, run: ${again}`
  return [...edited, { check: 'functions', state: 'hint', detail, mend }]
}

export async function checkPartitions(db: Db): Promise<Finding[]> {
  const days = await partitionDaysAhead(db)
  return [
    verdict(
      'partitions',
      days >= PARTITION_DAYS_MIN,
      days < 0 ? 'none for today: every call is refused' : `${days} days ahead`,
      'Start a gateway or a worker, which create them: parley serve worker',
    ),
  ]
}

/** Parley speaks no TLS itself, so with https there is a proxy; unless it is listed, all callers look like one. */
export function checkProxies(consoleUrl: string, trustedProxies: readonly string[]): Finding[] {
  if (!consoleUrl.startsWith('https://') || trustedProxies.length > 0) return []
  const detail = 'the console is behind a proxy, but no proxy is trusted to name the caller'
  return [{ check: 'proxies', state: 'hint', detail, mend: 'List its address in PARLEY_TRUSTED_PROXIES.' }]
}

export async function checkProviders(db: Db, secrets: Secrets, isOffline: boolean): Promise<Finding[]> {
  const providers = (await listProviders(db)).filter((provider) => provider.enabled)
  const routes = (await listDeployments(db)).filter((route) => route.enabled)
  if (providers.length === 0) {
    return [{ check: 'providers', state: 'hint', detail: 'there are none', mend: 'Run "parley provider add --help".' }]
  }
  const findings = await Promise.all(
    providers.map(async (provider) => {
      const route = routes.find((candidate) => candidate.provider === provider.name)
      const asked = isOffline || !route ? undefined : probedModelOf(route)
      const answer = await checkProvider(provider, secrets, asked)
      return [answer].concat(refusedKeys(provider))
    }),
  )
  return findings.flat()
}

async function checkProvider(provider: Provider, secrets: Secrets, asked: ProbedModel | undefined): Promise<Finding> {
  const check = `provider ${provider.name}`
  const keys = provider.keys.filter((key) => key.enabled)
  if (keys.length === 0 && provider.keys.length > 0) {
    return verdict(check, false, 'every key is disabled', `Run "parley provider key enable ${provider.name} KEY".`)
  }
  try {
    for (const key of keys) apiKeyOf(provider, key, secrets)
    const { name, kind, base_url: baseUrl, settings } = provider
    const { problem } = readStoredSettings({ name, kind, baseUrl, settings })
    if (asked === undefined || problem !== undefined) {
      return {
        check,
        state: 'ok',
        detail: `${keys.length === 1 ? 'its key' : 'each key'} can be read; it was not called`,
      }
    }
    // One that was not refused, if there is one: those that were are told apart.
    const key = keys.find(({ rejected_at }) => rejected_at === null) ?? keys[0]
    const { phases, failure } = await probe(provider, key, secrets, asked)
    if (failure !== undefined) return { check, state: 'problem', detail: failure }
    const firstToken = phases.find(({ phase }) => phase === 'first token')
    return { check, state: 'ok', detail: `${asked.upstreamModel} answered after ${firstToken?.ms} ms` }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    return { check, state: 'problem', detail: error.message }
  }
}

function refusedKeys({ name, keys }: Provider): Finding[] {
  return keys.flatMap((key) => {
    const refusal = key.enabled ? keyRefusalText(key) : undefined
    if (refusal === undefined) return []
    const mend = `Replace it: parley provider key add ${name} ${key.name}`
    return [verdict(`key ${name}/${key.name}`, false, refusal, mend)]
  })
}

export async function checkModels(db: Db): Promise<Finding[]> {
  const { models } = await loadCatalogue(db)
  if (models.size === 0) {
    return [{ check: 'models', state: 'hint', detail: 'there are none', mend: 'Run "parley model add --help".' }]
  }
  return [...models.values()].flatMap((model) => {
    const check = `model ${model.id}`
    const price = priceAt(model, Date.now())
    if (!price) return [verdict(check, false, 'has no price in force', 'Run "parley model price --help".')]
    const routes = model.deployments.length
    if (routes === 0) return [verdict(check, false, 'has no usable route', 'Run "parley model route --help".')]
    const loss = model.deployments
      .map(({ cost }) => (cost ? classesBelow(price, cost) : []))
      .find(({ length }) => length > 0)
    if (!loss) return [verdict(check, true, `priced, routes: ${routes}`, '')]
    const detail = `is sold below the price of a provider: ${loss.join(', ')}`
    return [
      { check, state: 'hint', detail, mend: 'Run "parley model show" with it, then "parley model price --help".' },
    ]
  })
}

export async function checkCallers(db: Db): Promise<Finding[]> {
  const callers = await countCallers(db)
  const steps: [bigint, string, string][] = [
    [
      callers.projects,
      'there is no project',
      'Run "parley publisher create --help", then "parley project create --help".',
    ],
    [callers.activated, 'no publisher with a project is activated', 'Run "parley publisher activate --help".'],
    [callers.verified, 'no activated publisher has a verified domain', 'Run "parley domain verify --help".'],
    [callers.with_keys, 'no project that could call has an active key pair', 'Run "parley key create --help".'],
    [callers.with_credit, 'no project that could call has credit', 'Run "parley wallet topup --help".'],
  ]
  const missing = steps.find(([count]) => count === 0n)
  if (missing) return [{ check: 'callers', state: 'hint', detail: missing[1], mend: missing[2] }]
  return [{ check: 'callers', state: 'ok', detail: `projects that can call: ${callers.with_credit}` }]
}

export async function checkHolds(db: Db, leaseMs: number): Promise<Finding[]> {
  const stuck = await countStuckHolds(db, leaseMs + SWEPT_WITHIN_MS, LONGEST_CALL_MS + SWEPT_WITHIN_MS)
  return [
    verdict(
      'holds',
      stuck === 0n,
      stuck === 0n ? 'none is stuck' : `holds of calls that ended long ago: ${stuck}`,
      'Start a worker, which releases them: parley serve worker',
    ),
  ]
}

/** Fewer of one provider and kind are oddities, which a day passes by. */
const ODD_REPORTS_MANY = 10

/** A provider that reports nothing is charged for by our own count; one that reports nonsense is broken, or lies. */
export async function checkUsageReports(db: Db): Promise<Finding[]> {
  const sums = await sumAnomalies(db, { sinceMs: DAY_MS })
  if (sums.length === 0) return [{ check: 'usage reports', state: 'ok', detail: 'none was odd in the last 24 hours' }]
  return sums.map(({ provider, kind, calls, projects }) => ({
    check: `usage of ${provider}`,
    state: kind === 'missing' || calls < ODD_REPORTS_MANY ? 'hint' : 'problem',
    detail: `${kind.replaceAll('_', ' ')}: ${counted(calls, 'call')} of ${counted(projects, 'project')} in the last 24 hours`,
    mend: `Run: parley anomalies --provider ${provider}`,
  }))
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

export function verdict(check: string, isOk: boolean, detail: string, mend: string): Finding {
  return isOk ? { check, state: 'ok', detail } : { check, state: 'problem', detail, mend }
}
