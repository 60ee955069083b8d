import type { DigestKeys, DigestPurpose } from '../platform/digest-keys.ts'
import type { Secrets } from '../platform/secrets.ts'
import { storeUnavailable } from '../rules/errors.ts'
import type { Db } from '../store/database.ts'
import { recordSecrets } from '../store/secret-versions.ts'

/** The keys of digests, which are in the store: a gateway that starts while it is away has none yet. */
export interface LoadedDigestKeys {
  /** Reads them, unless it has them. Throws when this gateway's secret is not the installation's. */
  load(): Promise<void>
  /** Throws 503 before they were read. */
  keyFor(purpose: DigestPurpose): Buffer
}

export function createDigestKeys(db: Db, secrets: Secrets): LoadedDigestKeys {
  let keys: DigestKeys | undefined
  return {
    async load() {
      keys ??= await recordSecrets(db, secrets)
    },
    keyFor(purpose) {
      if (!keys) throw storeUnavailable()
      return keys[purpose]
    },
  }
}
