import type { Log } from '../platform/log.ts'
import { MissingSecret } from '../platform/secrets.ts'
import { storeUnavailable } from '../rules/errors.ts'

/**
 * Answers 503, and not 500, to work that needs a secret this gateway was not given: it fails here, and not at a gateway that
 * has it.
 */
export function orLacking<T>(log: Log, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof MissingSecret)) throw error
    const { version: secretVersion } = error
    log.error(
      { secretVersion, mend: 'List it in PARLEY_SECRET of this gateway.' },
      'a call needs a secret that is missing',
    )
    throw storeUnavailable({ secretVersion })
  }
}
