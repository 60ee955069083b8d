import { z } from 'zod'
import { requestErrorOf } from '../calls/request-errors.ts'
import { MINUTE_MS } from '../durations.ts'
import { ParleyError } from '../errors.ts'
import { isRecord } from '../record.ts'

/**
 * A report by an advertiser's server about a click, in the shape of IAB Tech Lab's Event and Conversion API 1.0. Only what is
 * needed to find the click is taken: an unknown field is refused, so that nothing about people arrives here.
 */
const EVENT_ID_CHARACTERS_MAX = 200
const VALUE_MAX = 1_000_000_000
/** The year 2100. */
const SECONDS_MAX = 4_102_444_800
const CLICK_ID = 'must be the click id that the link had as parley_click'

const body = z.strictObject({
  id: z
    .string()
    .min(1, 'must not be empty')
    .max(EVENT_ID_CHARACTERS_MAX)
    // The store takes no NUL, and would read two halves of characters as the same.
    .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must have no control characters and no halves of characters'),
  event_type: z.literal('purchase'),
  timestamp: z.int().positive().max(SECONDS_MAX),
  value: z.number().min(0).max(VALUE_MAX),
  currency_code: z.string().regex(/^[A-Z]{3}$/, 'must be three capital letters, such as EUR'),
  user_data: z.strictObject({
    click_id: z.string(CLICK_ID).regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, CLICK_ID),
  }),
})

export { body as conversionBody }
export type ConversionRequest = z.output<typeof body>

export function parseConversionRequest(value: unknown): ConversionRequest {
  if (!isRecord(value)) throw new ParleyError('invalid_request', { message: 'The body must be a JSON object.' })
  const unknown = [
    ...Object.keys(value).filter((name) => !Object.hasOwn(body.shape, name)),
    ...(isRecord(value.user_data)
      ? Object.keys(value.user_data).flatMap((name) => (name === 'click_id' ? [] : [`user_data.${name}`]))
      : []),
  ]
  if (unknown[0] !== undefined) {
    const message = `A conversion accepts only ${Object.keys(body.shape).join(', ')}, and in user_data only click_id. Send nothing about people.`
    throw new ParleyError('invalid_value', { message, param: unknown[0] })
  }
  const result = body.safeParse(value, { reportInput: true })
  if (!result.success) throw requestErrorOf(result.error)
  return result.data
}

/** As much as clocks are off. */
const AHEAD_MS_MAX = 5 * MINUTE_MS

/** When it happened. Nothing is told before it has. */
export function happenedAt({ timestamp }: ConversionRequest, now: Date): Date {
  const at = new Date(timestamp * 1_000)
  if (at.getTime() <= now.getTime() + AHEAD_MS_MAX) return at
  const message = 'timestamp is in the future. Send seconds since 1970, and check the clock of your server.'
  throw new ParleyError('invalid_value', { message, param: 'timestamp' })
}

export const CONVERSION_VERDICTS = [
  'counted',
  'unknown_click',
  'no_reader',
  'before_click',
  'too_late',
  'too_many',
] as const
export type ConversionVerdict = (typeof CONVERSION_VERDICTS)[number]

/** The parameter that names the click in the address of an offer. */
export const CLICK_PARAMETER = 'parley_click'

/** The offer's address with the click's id behind its own parameters, which stay as they are. */
export function withClickId(link: string, clickId: string): string {
  const url = new URL(link)
  url.search = `${url.search === '' ? '?' : `${url.search}&`}${CLICK_PARAMETER}=${clickId}`
  return url.href
}

const KEY = /^ply_ck_[\w-]{43}$/
export const CONVERSION_KEY_BYTES = 32

export function conversionKeyFrom(random: Buffer): string {
  return `ply_ck_${random.toString('base64url')}`
}

export function isConversionKey(text: string | undefined): text is string {
  return text !== undefined && KEY.test(text)
}
