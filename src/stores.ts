import { databaseUrlOf, LOGIN_VARIABLES, loginsFor, type Config, type LoginOf } from './config.ts'
import { errorFields, type Log } from './platform/log.ts'
import { complaintOf, findStanding } from './store/database-logins.ts'
import { openStore, type Store, type StoreOptions } from './store/database.ts'
import { missingFunctions } from './store/health.ts'

/** Tenants' is no role: the console and the worker act for them. */
type Role = Exclude<LoginOf, 'tenant'>

export interface Stores {
  of(role: Role): Store
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
  const warned = Promise.all([warnOfLogins(roles, storeOf, log), warnOfFunctions([...stores.values()][0], log)])
  return {
    of: storeOf,
    async close() {
      await warned
      await Promise.all([...stores.values()].map((store) => store.close()))
    },
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
async function warnOfFunctions(store: Store | undefined, log: Log): Promise<void> {
  try {
    const functions = store ? await missingFunctions(store.db) : []
    if (functions.length === 0) return
    log.error({ functions, mend: 'Run: parley migrate' }, 'the database lacks functions of this version')
  } catch {
    // The store may be away just now: who asks it next says so.
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
