import type { Health } from './gateway/ops.ts'
import type { Gateway } from './gateway/gateway.ts'
import type { Matcher, MatcherHealth } from './matcher/matcher.ts'
import type { Store } from './store/database.ts'
import { createReachability, createSchemaCheck, type Readiness, type SchemaNeeds } from './store/readiness.ts'
import type { Worker } from './worker/worker.ts'

/** The parts that run in this process. A worker starts after its ports are taken, so it is asked for. */
export interface Planes {
  roles: readonly string[]
  storeOf(role: 'console' | 'worker' | 'matcher'): Store
  gateway: Gateway | undefined
  matcher: Matcher | undefined
  runningWorker(): Worker | undefined
}

/** The functions that tenants' transactions need; console and worker both run some. */
const TENANTS = ['tenant_context', 'tenant_publisher', 'tenant_project', 'audit_log_chain', 'grant_trial_credit']
const CONSOLE: SchemaNeeds = {
  functions: [
    ...TENANTS,
    'create_sandbox',
    'limits_set',
    'limits_erase',
    'search_messages',
    'ledger_credit_payment',
    'ledger_settle_returns',
    'first_id_of',
    'time_of_id',
  ],
}
const WORKER: SchemaNeeds = {
  functions: [
    ...TENANTS,
    'ledger_sweep',
    'open_transactions',
    'make_partition',
    'limits_forget',
    'browser_sessions_forget',
    'erase_conversation_leftovers',
    'add_missing_words',
    'add_counts',
    'time_of_id',
  ],
}

/** Whether the process can do the work of all its roles. Asked about once a second by balancers, and cheap. */
export function healthOf(planes: Planes): Health {
  const roles = rolesOf(planes)
  const prefixOf = (role: string) => (roles.length > 1 ? `${role}: ` : '')
  return {
    get isDraining() {
      return planes.gateway?.isDraining ?? false
    },
    async readiness() {
      const all = await Promise.all(roles.map(async ({ role, look }) => named(await look(), prefixOf(role))))
      return { missing: all.flatMap(({ missing }) => missing), warnings: all.flatMap(({ warnings }) => warnings) }
    },
  }
}

interface RoleHealth {
  role: string
  look: () => Readiness | Promise<Readiness>
}

function rolesOf({ roles, storeOf, gateway, matcher, runningWorker }: Planes): RoleHealth[] {
  const failing = () => runningWorker()?.failures ?? []
  return roles.flatMap((role): RoleHealth[] => {
    if (role === 'gateway' && gateway) return [{ role, look: () => gateway.health.readiness() }]
    if (role === 'console') return [{ role, look: storeHealth(storeOf(role), CONSOLE) }]
    if (role === 'worker') return [{ role, look: withWarnings(storeHealth(storeOf(role), WORKER), failing) }]
    return matcher ? [{ role, look: matcherHealth(matcher, storeOf('matcher'), roles.length === 1) }] : []
  })
}

function named({ missing, warnings }: Readiness, prefix: string): Readiness {
  return { missing: missing.map((text) => prefix + text), warnings: warnings.map((text) => prefix + text) }
}

const UNREACHED = 'The database does not answer.'

/** For a role that needs the store for everything, its tenants' connections included. */
function storeHealth({ db, tenants }: Store, needs: SchemaNeeds): () => Promise<Readiness> {
  const reached = [...new Set([db, tenants.db])].map(createReachability)
  const checkSchema = createSchemaCheck(db, needs)
  return async () => {
    const answers = await Promise.all(reached.map((look) => look()))
    if (!answers.every(Boolean)) return { missing: [UNREACHED], warnings: [] }
    return checkSchema()
  }
}

/** Adds failures in the background as warnings: they keep nobody from working, but are reported. */
function withWarnings(look: () => Promise<Readiness>, more: () => string[]): () => Promise<Readiness> {
  return async () => {
    const { missing, warnings } = await look()
    return { missing, warnings: [...warnings, ...more()] }
  }
}

/** Beside other roles it takes none of them out: calls are answered without recommendations. */
function matcherHealth(matcher: Pick<Matcher, 'health'>, { db }: Store, isAlone: boolean): () => Promise<Readiness> {
  const reach = createReachability(db)
  return async () => {
    const { failures } = matcher.health
    const lacks = await lacksOf(matcher.health, reach)
    return isAlone ? { missing: lacks, warnings: failures } : { missing: [], warnings: [...lacks, ...failures] }
  }
}

/** Without news from the database it does not answer from its index: then it is the database that somebody has to look at. */
async function lacksOf({ state, problem }: MatcherHealth, reach: () => Promise<boolean>): Promise<string[]> {
  if (state === 'ready') return []
  if (state === 'switched_off') return [`It is switched off: ${problem}`]
  return [(await reach()) ? 'The index of offers is not loaded yet.' : UNREACHED]
}
