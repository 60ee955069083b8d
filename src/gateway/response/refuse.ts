import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionError, FastifyReply, FastifyRequest } from 'fastify'
import { uuidv7 } from '../../platform/uuid.ts'
import { asParleyError, ParleyError, type ErrorCode } from '../../rules/errors.ts'
import { CLIENT_LINGER_MS, UNPAID_BODY_BYTES_MAX } from '../../rules/limits.ts'
import { declaredBytesOf, formatOf } from '../headers.ts'
import { errorBodyOf } from './wire.ts'

/** How a request is refused that has not become a call. */

export function refuse(error: ParleyError, request: FastifyRequest, reply: FastifyReply) {
  return beginRefusal(error, request, reply).send(errorBodyOf(error, formatOf(request)))
}

/** All of it but the body. */
export function beginRefusal(error: ParleyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  request.refusal = error
  leaveUnread(request.raw)
  reply.header('x-request-id', request.id)
  if (error.options.allow !== undefined) reply.header('allow', error.options.allow)
  if (error.options.retryAfterSeconds !== undefined) reply.header('retry-after', error.options.retryAfterSeconds)
  return reply.code(error.status)
}

/** The rest of a long body that was refused is not read; its connection ends when the answer has had time to arrive. */
function leaveUnread(request: IncomingMessage): void {
  const declared = declaredBytesOf(request) ?? (request.headers['transfer-encoding'] === undefined ? 0 : Infinity)
  if (request.complete || declared <= UNPAID_BODY_BYTES_MAX) return
  // Node reads on and throws away whatever nobody has begun to read.
  request.read(0)
  setTimeout(() => {
    if (!request.complete) request.socket.destroy()
  }, CLIENT_LINGER_MS).unref()
}

/** Fastify's own refusals carry a status; without this mapping a caller's typo would become a 500. */
export function ourErrorOf(error: unknown): ParleyError {
  const status = (error as { statusCode?: unknown }).statusCode
  if (error instanceof ParleyError) return error
  if (status === 415) return new ParleyError('not_json_content')
  if (status === 408) return new ParleyError('body_too_slow')
  if (typeof status === 'number' && status >= 400 && status < 500) return new ParleyError('invalid_request')
  return asParleyError(error)
}

/** Answers bytes that are not even HTTP on the bare socket: they never become a request. */
export function refuseMalformed(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return
  if (isBehindAnswer(latest.get(socket))) return endSoon(socket, '')
  const ours = new ParleyError(CLIENT_ERRORS[error.code] ?? 'malformed')
  const body = JSON.stringify(errorBodyOf(ours, 'plain'))
  const head = [
    `HTTP/1.1 ${ours.status} ${STATUS_CODES[ours.status]}`,
    `x-request-id: ${uuidv7()}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  endSoon(socket, `${head.join('\r\n')}\r\n\r\n${body}`)
}

function endSoon(socket: Socket, lastWords: string): void {
  socket.end(lastWords)
  // Not at once: what the client is still sending would make the system drop our answer before it is read.
  setTimeout(() => socket.destroy(), CLIENT_LINGER_MS).unref()
}

/** The answer to the request that came last on each connection. */
const latest = new WeakMap<Socket, ServerResponse>()

export function noteAnswer(response: ServerResponse): void {
  if (response.socket) latest.set(response.socket, response)
}

/**
 * Whether words of ours would stand inside of an answer that is being sent, or be a second one to a request that was refused
 * before its body had come. Whoever reads several answers from one connection would take them for the next one.
 */
function isBehindAnswer(answer: ServerResponse | undefined): boolean {
  return answer !== undefined && answer.headersSent && (!answer.writableFinished || !answer.req.complete)
}

const CLIENT_ERRORS: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'body_too_slow',
}
