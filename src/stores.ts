import { databaseUrlOf, LOGIN_VARIABLES, loginsFor, type Config, type LoginOf } from './config.ts'
import { every, type JobWatch, type Repeated } from './platform/every.ts'
import { errorFields, type Log } from './platform/log.ts'
import type { Secrets } from './platform/secrets.ts'
import { complaintOf, findStanding } from './store/database-logins.ts'
import { openStore, type Db, type Store, type StoreOptions } from './store/database.ts'
import { missingFunctions, newerMigrations } from './store/health.ts'
import { DatabaseTooNew } from './store/migrations.ts'
import { recordSecrets, WrongSecret } from './store/secret-versions.ts'

/** Tenants' is no role: the console and the worker act for them. */
type Role = Exclude<LoginOf, 'tenant'>

export interface Stores {
  of(role: Role): Store
  /** Rejects when these are not the installation's, so that a process with a wrong secret answers nobody. */
  proveSecrets(secrets: Secrets, metrics: JobWatch['metrics']): Promise<void>
  close(): Promise<void>
}

/** One for each login: roles that have none of their own share the owner's. */
export function openStores(config: Config, roles: readonly Role[], log: Log, poolWaitMs?: number): Stores {
  const urls = new Set(roles.map((role) => databaseUrlOf(config, role)))
  const stores = new Map(
    [...urls].map((url) => [url, openStore({ ...storeOptionsOf(config, url, roles, log), poolWaitMs })]),
  )
  const storeOf = (role: Role) => {
    const store = stores.get(databaseUrlOf(config, role))
    if (!store) throw new Error(`${role} does not run here`)
    return store
  }
  const any = [...stores.values()][0]
  if (!any) throw new Error('no role runs here')
  let proving: Repeated | undefined
  const warned = Promise.all([warnOfLogins(roles, storeOf, log), warnOfFunctions(any, log)])
  return {
    of: storeOf,
    async proveSecrets(secrets, metrics) {
      proving = await proveSecrets(any.db, secrets, { log, metrics })
    },
    async close() {
      proving?.stop()
      await warned
      await Promise.all([...stores.values()].map((store) => store.close()))
    },
  }
}

/** A program that an update has left behind says so and ends, instead of failing in its first call. */
export async function refuseTooNew(stores: Stores, [role = 'gateway']: readonly Role[], log: Log): Promise<void> {
  try {
    const migrations = await newerMigrations(stores.of(role).db)
    if (migrations.length === 0) return
    const mend = 'This version works on its tables. Replace what is left of it.'
    log.warn({ migrations, mend }, 'a newer version has migrated the database')
  } catch (error) {
    // The store may be away just now: who asks it next says so.
    if (!(error instanceof DatabaseTooNew)) return
    await stores.close()
    throw error
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

/** Every login can see which functions there are, also where another process migrates. */
async function warnOfFunctions(store: Store, log: Log): Promise<void> {
  try {
    const functions = await missingFunctions(store.db)
    if (functions.length === 0) return
    log.error({ functions, mend: 'Run: parley migrate' }, 'the database lacks functions of this version')
  } catch {
    // The store may be away just now: who asks it next says so.
  }
}

/** Publishing a million offers is one statement after another, each of up to a minute. */
const IMPORT_STATEMENT_MS = 30 * 60_000

/** For a worker that imports a feed. Its statements take longer than those that anybody waits for. */
export function openImportStore(config: Config): Store {
  const url = databaseUrlOf(config, 'worker')
  const limits = { poolMax: 2, statementTimeoutMs: IMPORT_STATEMENT_MS }
  return openStore({ url, applicationName: 'parley feed import', ...limits })
}

const PROVE_EVERY_MS = 1_000

/** While the store is away nobody can tell. Then it is asked until it answers, and a wrong secret ends the process. */
async function proveSecrets(db: Db, secrets: Secrets, watch: JobWatch): Promise<Repeated | undefined> {
  try {
    await recordSecrets(db, secrets)
    return undefined
  } catch (error) {
    if (error instanceof WrongSecret) throw error
  }
  const proving = every(PROVE_EVERY_MS, prove, 'comparing the secret', watch)
  async function prove(): Promise<void> {
    try {
      await recordSecrets(db, secrets)
      proving.stop()
    } catch (error) {
      if (!(error instanceof WrongSecret)) throw error
      proving.stop()
      watch.log.fatal({ problem: error.message }, 'the secret is wrong')
      // Not into the hands of who would repeat this.
      setImmediate(() => {
        throw error
      })
    }
  }
  return proving
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
