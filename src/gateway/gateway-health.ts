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
  lease: { readonly isFresh: boolean }
  ledger: { readonly isWritable: boolean }
  jobs: { readonly failures: string[] }
  /** The job that makes them. */
  partitions: { soon(): void }
}

/** What the request path asks of the database. */
const NEEDS: SchemaNeeds = {
  functions: ['ledger_apply', 'ledger_free_wallets', 'idempotency_claim', 'browser_session_begin'],
  writesCalls: true,
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
      return { missing: [...lacks(), ...missing], warnings: [...warnings, ...jobs.failures] }
    },
  }
}
