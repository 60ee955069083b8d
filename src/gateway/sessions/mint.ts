import { randomBytes } from 'node:crypto'
import type { Secrets } from '../../platform/secrets.ts'
import { timeOfUuid, uuidv7 } from '../../platform/uuid.ts'
import type { SessionRequest } from '../../rules/calls/session-request.ts'
import { isErrorCode, ParleyError } from '../../rules/errors.ts'
import { SESSION_LIMITS } from '../../rules/limits.ts'
import { KEY_PAIR_RANDOM_BYTES, secretDigestOf, sessionSecretFrom } from '../../rules/projects/keys.ts'
import { orUnavailable, type Db } from '../../store/database.ts'
import { beginSession } from '../../store/projects/browser-sessions.ts'
import type { Caller } from '../authenticate.ts'

/** Makes the secrets of browser sessions. */
export interface Mint {
  /** Its secret leaves the process in this one answer: a digest is all that is stored. */
  begin(caller: Minting, asked: SessionRequest, from: MintedFrom): Promise<Begun>
}

/** The pair that was proven, and not what a header says. */
type Minting = Pick<Caller, 'projectId' | 'keyPairId' | 'publishableKey'>

interface MintedFrom {
  endUserId: string | undefined
  /** The address of the site that asks. */
  address: string
}

interface Begun {
  id: string
  secret: string
  endsAt: Date
}

/** A minute of them ends soon enough. */
const FULL_RETRY_SECONDS = 60

/** A tag of the network that an address is in, under the salt of a day. */
type TagOf = (address: string, at: Date) => Promise<Buffer | undefined>

export function createMint(db: Db, secrets: Secrets, tagOf: TagOf): Mint {
  return {
    async begin({ projectId, keyPairId, publishableKey }, asked, { endUserId, address }) {
      const id = uuidv7()
      const networkTag = await orUnavailable(tagOf(address, timeOfUuid(id)))
      const secret = sessionSecretFrom(randomBytes(KEY_PAIR_RANDOM_BYTES), publishableKey)
      const { calls, money, seconds, models, origins, max_tokens: maxTokens } = asked
      const bounds = { endUserId, models, origins, maxTokens, calls, money, seconds }
      const stored = {
        secretDigest: secretDigestOf(secret, secrets.keyFor('key-pair-pepper')),
        secretVersion: secrets.version,
        secretLast4: secret.slice(-4),
      }
      const session = { id, projectId, keyPairId, networkTag, ...stored, ...bounds }
      const begun = await orUnavailable(beginSession(db, session, SESSION_LIMITS.aliveMax))
      if ('refusal' in begun) throw refusalOf(begun.refusal)
      return { id, secret, endsAt: begun.endsAt }
    },
  }
}

function refusalOf(refusal: string): ParleyError {
  if (refusal !== 'too_many_sessions') return new ParleyError(isErrorCode(refusal) ? refusal : 'internal')
  const message = `This key pair has ${SESSION_LIMITS.aliveMax} open sessions. Create new ones when some have ended, give them fewer seconds, or end some in the console.`
  return new ParleyError('too_many_requests', { message, retryAfterSeconds: FULL_RETRY_SECONDS })
}
