import type { FastifyReply, FastifyRequest } from 'fastify'
import { JsonError, parseJson, parseJsonInTurns, type JsonLimits } from '../../platform/json.ts'
import { ParleyError } from '../../rules/errors.ts'
import { JSON_LIMITS, LARGE_BODY_BYTES } from '../../rules/limits.ts'
import type { Gateway } from '../gateway.ts'
import { declaredBytesOf } from '../headers.ts'

export interface SentJson {
  body: unknown
  bodyBytes: number
}

/** The body of a request, in the memory and the working time of its account. Throws 400, 403, 408, 413, 415, 429, 503. */
export async function readJson(
  gateway: Gateway,
  request: FastifyRequest,
  reply: FastifyReply,
  limits: JsonLimits = JSON_LIMITS,
): Promise<SentJson> {
  const bytes = await bytesOf(gateway, request, reply)
  return { body: await bodyOf(gateway.work, limits, request, reply, bytes), bodyBytes: bytes.length }
}

/** For an endpoint whose fields are all optional, and with them the body. */
export async function readOptionalJson(gateway: Gateway, request: FastifyRequest, reply: FastifyReply) {
  const isSent = declaredBytesOf(request.raw) || request.headers['transfer-encoding'] !== undefined
  return isSent ? readJson(gateway, request, reply) : { body: {}, bodyBytes: 0 }
}

async function bytesOf({ intake }: Gateway, request: FastifyRequest, reply: FastifyReply): Promise<Buffer> {
  if (request.body === undefined) throw new ParleyError('not_json_content')
  if (request.headers.expect?.toLowerCase() === '100-continue') reply.raw.writeContinue()
  return intake.read(request.raw, request.admission)
}

async function bodyOf(
  work: Gateway['work'],
  limits: JsonLimits,
  { caller: { publisherId } }: FastifyRequest,
  { raw: res }: FastifyReply,
  bytes: Buffer,
): Promise<unknown> {
  try {
    if (bytes.length < LARGE_BODY_BYTES) return work.run(publisherId, () => parseJson(bytes, limits))
    return await work.runInTurn(publisherId, async (giveWay) => {
      // A caller that left while it waited for its turn is not worth the work.
      if (res.destroyed) throw new ParleyError('invalid_request', { message: 'The connection ended.' })
      return parseJsonInTurns(bytes, limits, giveWay)
    })
  } catch (error) {
    if (error instanceof JsonError) throw new ParleyError('invalid_request', { message: error.message })
    throw error
  }
}
