import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/** The cost of one argon2id. */
export interface PasswordCost {
  memoryKib: number
  passes: number
}

/**
 * OWASP's least: about 30 ms. At most four at once, because that is how many threads Node has for it; who waits behind a
 * hundred others is better told to come back.
 */
const USUAL_COST = { memoryKib: 19_456, passes: 2 }
const PARALLELISM = 1
const TAG_BYTES = 32
const RUNNING_MAX = 4
const WAITING_MAX = 100

const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/
const derive = promisify(argon2)

export class PasswordsBusyError extends Error {}

export interface Passwords {
  hash(password: string): Promise<string>
  verify(password: string, hash: string): Promise<boolean>
}

export function createPasswords(usual: PasswordCost = USUAL_COST): Passwords {
  const waiting: (() => void)[] = []
  let running = 0

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (running >= RUNNING_MAX) {
      if (waiting.length >= WAITING_MAX) throw new PasswordsBusyError('too many passwords are being checked')
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      running += 1
    }
    try {
      return await work()
    } finally {
      // The next in line takes the place over, so the count stays.
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }

  return {
    async hash(password) {
      const nonce = randomBytes(16)
      const cost = { memory: usual.memoryKib, passes: usual.passes, parallelism: PARALLELISM, tagLength: TAG_BYTES }
      const tag = await inTurn(() => derive('argon2id', { message: bytesOf(password), nonce, ...cost }))
      return `$argon2id$v=19$m=${usual.memoryKib},t=${usual.passes},p=${PARALLELISM}$${bare(nonce)}$${bare(tag)}`
    },
    async verify(password, hash) {
      const [, memory, passes, parallelism, salt = '', tag = ''] = PHC.exec(hash) ?? []
      if (memory === undefined) return false
      const expected = Buffer.from(tag, 'base64')
      const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) }
      const nonce = Buffer.from(salt, 'base64')
      const parameters = { message: bytesOf(password), nonce, ...cost, tagLength: expected.length }
      return timingSafeEqual(await inTurn(() => derive('argon2id', parameters)), expected)
    },
  }
}

/** The same letters typed on two keyboards can be different code points; both must open the account. */
function bytesOf(password: string): Buffer {
  return Buffer.from(password.normalize('NFKC'))
}

function bare(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}
