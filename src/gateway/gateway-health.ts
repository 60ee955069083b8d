import { CLOCK_DIFFERENCE_MS_MAX } from '../rules/clock-difference.ts'
import { createSchemaCheck, type Readiness, type SchemaNeeds } from '../store/readiness.ts'
import type { Db } from '../store/database.ts'

/** Whether a gateway can take calls. */
export interface GatewayHealth {
  /** Can it hold credit right now, as far as this process knows by itself? */
  readonly isReady: boolean
  /** The same and what it needs of the database, in sentences. */
  readiness(): Promise<Readiness>
}

export interface GatewayHealthOptions {
  db: Db
  catalogue: { readonly isLoaded: boolean; readonly problem: string | undefined }
  lease: { readonly isFresh: boolean; readonly clockAheadMs: number }
  ledger: { readonly isWritable: boolean }
  jobs: { readonly failures: string[] }
  /** The job that makes them. */
  partitions: { soon(): void }
}

/** The parts of the schema that the request path needs. */
const NEEDS: SchemaNeeds = {
  functions: ['ledger_apply', 'ledger_free_wallets', 'idempotency_claim', 'browser_session_begin'],
  writesCalls: true,
}

/** `parley doctor` looks at the clock of its own host only. Clicks are judged, and days of budgets and reports begin, by the clock of the gateway that a reader comes to. */
function clockWarnings({ clockAheadMs }: GatewayHealthOptions['lease']): string[] {
  const seconds = Math.round(Math.abs(clockAheadMs) / 1_000)
  if (Math.abs(clockAheadMs) < CLOCK_DIFFERENCE_MS_MAX) return []
  return [
    `This host's clock is ${seconds} s ${clockAheadMs > 0 ? 'ahead of' : 'behind'} the database's: set both with NTP.`,
  ]
}

export function createGatewayHealth(options: GatewayHealthOptions): GatewayHealth {
  const { db, catalogue, lease, ledger, jobs, partitions } = options
  const checkSchema = createSchemaCheck(db, { ...NEEDS, onPartitionMissing: () => partitions.soon() })
  const lacks = () => [
    ...(catalogue.isLoaded ? [] : ['The catalogue is not loaded.']),
    ...(catalogue.problem === undefined ? [] : [catalogue.problem]),
    ...(lease.isFresh ? [] : ['The lease was not renewed lately: the database does not answer.']),
    ...(ledger.isWritable ? [] : ['The ledger cannot be written: the log says why.']),
  ]
  return {
    get isReady() {
      return lacks().length === 0
    },
    async readiness() {
      const { missing, warnings } = await checkSchema()
      return { missing: [...lacks(), ...missing], warnings: [...warnings, ...clockWarnings(lease), ...jobs.failures] }
    },
  }
}
