import type { FastifyReply, FastifyRequest } from 'fastify'
import { JsonError, parseJson } from '../../platform/json.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import { happenedAt, isConversionKey, parseConversionRequest } from '../../rules/clicks/conversions.ts'
import { ParleyError } from '../../rules/errors.ts'
import { JSON_LIMITS } from '../../rules/limits.ts'
import { textDigestOf } from '../../rules/text-digest.ts'
import { orUnavailable } from '../../store/database.ts'
import { recordConversion } from '../../store/recommendations/conversions.ts'
import type { Gateway } from '../gateway.ts'

/** POST /v1/conversions: an advertiser's server tells what became of a click. Sent again, it has the same answer. */
export async function answerConversion(gateway: Gateway, request: FastifyRequest, reply: FastifyReply) {
  gateway.intake.greet(request.ip) // 429
  const key = keyOf(request)
  const asked = parseConversionRequest(jsonOf(request.body))
  const recorded = await orUnavailable(
    recordConversion(gateway.db, {
      id: uuidv7(),
      keyDigest: textDigestOf(key),
      eventId: asked.id,
      clickId: asked.user_data.click_id,
      value: asked.value,
      currency: asked.currency_code,
      happenedAt: happenedAt(asked, new Date()),
    }),
  )
  if (!recorded) return gateway.intake.refuseKeys(request.ip, notValid())
  return reply.header('cache-control', 'private, no-store').send({
    object: 'conversion',
    id: recorded.id,
    event_id: asked.id,
    verdict: recorded.verdict,
  })
}

function keyOf({ headers }: FastifyRequest): string {
  const [, key] = /^bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? []
  if (key === undefined) {
    const message = 'Send the conversion key of the advertiser: Authorization: Bearer ply_ck_….'
    throw new ParleyError('keys_missing', { message })
  }
  if (!isConversionKey(key)) throw notValid()
  return key
}

function notValid(): ParleyError {
  const message = 'The conversion key is not valid. Check that it is complete, and that no newer one was created.'
  return new ParleyError('keys_invalid', { message })
}

function jsonOf(text: unknown): unknown {
  if (!Buffer.isBuffer(text)) throw new ParleyError('not_json_content')
  try {
    return parseJson(text, JSON_LIMITS)
  } catch (error) {
    if (error instanceof JsonError) throw new ParleyError('invalid_request', { message: error.message })
    throw error
  }
}
