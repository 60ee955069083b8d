import { z } from 'zod'
import { ParleyError } from '../errors.ts'
import { MAX_TOKENS_MAX, SESSION_LIMITS } from '../limits.ts'
import { NANOS_MAX } from '../money.ts'
import { isRecord } from '../record.ts'
import { END_USER_CHARACTERS_MAX } from './end-users.ts'
import { requestErrorOf } from './request-errors.ts'

/**
 * The settings of a browser session. A request that names none gets a session that can do little: a quarter of an hour, a few
 * calls and a little money. An unknown field is refused, because a mistyped bound would be no bound.
 */
const MONEY = 'must be nanos of a credit, as text: "250000000" is $0.25'
const LIST_MAX = 100

const body = z.strictObject({
  end_user: z.string().min(1, 'must not be empty').max(END_USER_CHARACTERS_MAX).optional(),
  models: z.array(z.string()).min(1).max(LIST_MAX).optional(),
  max_tokens: z.int().positive().max(MAX_TOKENS_MAX).optional(),
  calls: z.int().positive().max(SESSION_LIMITS.callsMax).default(SESSION_LIMITS.calls),
  money: z
    .string(MONEY)
    .regex(/^[1-9]\d{0,18}$/, MONEY)
    .transform(BigInt)
    .refine((nanos) => nanos <= NANOS_MAX, MONEY)
    .prefault(String(SESSION_LIMITS.moneyNanos)),
  seconds: z.int().positive().max(SESSION_LIMITS.secondsMax).default(SESSION_LIMITS.seconds),
  origins: z.array(z.string().max(SESSION_LIMITS.originCharactersMax)).min(1).max(SESSION_LIMITS.originsMax).optional(),
})

export { body as sessionBody }
export type SessionRequest = z.output<typeof body>

export function parseSessionRequest(value: unknown): SessionRequest {
  if (!isRecord(value)) throw new ParleyError('invalid_request', { message: 'The body must be a JSON object.' })
  const given = Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null))
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(body.shape, name))
  if (unknown !== undefined) {
    const known = Object.keys(body.shape).join(', ')
    throw new ParleyError('invalid_value', { message: `A session accepts only ${known}.`, param: unknown })
  }
  const result = body.safeParse(given, { reportInput: true })
  if (!result.success) throw requestErrorOf(result.error)
  return result.data
}
