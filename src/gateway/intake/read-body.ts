import type { IncomingMessage } from 'node:http'
import { createWatchdog } from '../../platform/timer.ts'
import { ParleyError } from '../../rules/errors.ts'
import { BODY_BYTES_MAX, UPLOAD_GRACE_MS, type IntakeLimits } from '../../rules/limits.ts'
import { declaredBytesOf } from '../headers.ts'
import { unpaidBody, type Admission } from './admission.ts'

/** Small bodies are read into as much as they say that they are. */
const FIRST_BYTES = 64 * 1024

type Pace = Pick<IntakeLimits, 'uploadSilenceMs' | 'uploadBytesPerSecond'>

/**
 * The whole body of a request, in memory that was reserved for it: while there is none, nothing is read. It is copied into one
 * piece as it comes, because a million chunks of one byte would take a hundred times what they count for.
 */
export function readBody(stream: IncomingMessage, admission: Admission, pace: Pace): Promise<Buffer> {
  const declared = declaredBytesOf(stream)
  const most = admission.bodyBytesMax ?? BODY_BYTES_MAX
  if (declared !== undefined && declared > most) return Promise.reject(tooLarge())
  const upload = createUpload(pace, () => fail(new ParleyError('body_too_slow')))
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  let buffer = Buffer.alloc(0)
  let received = 0

  function onData(chunk: Buffer): void {
    const total = received + chunk.length
    if (total > most) return fail(admission.bodyBytesMax === undefined ? tooLarge() : unpaidBody())
    if (upload.isTooSlow(total)) return fail(new ParleyError('body_too_slow'))
    if (total <= buffer.length) return append(chunk)
    const room = Math.min(Math.max(total, buffer.length * 2, FIRST_BYTES), Math.max(declared ?? most, total))
    const wait = admission.reserve(room - buffer.length)
    if (wait === undefined) return append(chunk, room)
    stream.pause()
    upload.pause()
    wait.then(() => goOn(chunk, room), fail)
  }

  function goOn(chunk: Buffer, room: number): void {
    append(chunk, room)
    upload.resume()
    stream.resume()
  }

  function append(chunk: Buffer, room = buffer.length): void {
    if (room > buffer.length) {
      const larger = Buffer.allocUnsafeSlow(room)
      buffer.copy(larger, 0, 0, received)
      buffer = larger
    }
    chunk.copy(buffer, received)
    received += chunk.length
    upload.restart()
  }

  function end(): void {
    upload.stop()
    stream.off('data', onData).off('end', onEnd).off('close', onGone)
  }

  function onEnd(): void {
    end()
    resolve(buffer.subarray(0, received))
  }

  function onGone(): void {
    fail(new ParleyError('invalid_request', { message: 'The connection ended before the body did.' }))
  }

  function fail(error: unknown): void {
    end()
    // The rest of the body stays unread: `refuse` ends the connection when the answer has had time to arrive.
    stream.pause()
    reject(error)
  }

  stream
    .on('data', onData)
    .on('end', onEnd)
    .on('close', onGone)
    .on('error', () => {})
  return promise
}

function tooLarge(): ParleyError {
  return new ParleyError('body_too_large', { message: `The request body is larger than ${BODY_BYTES_MAX} bytes.` })
}

/** The time that an upload takes. What it waits for memory is not its own. */
function createUpload({ uploadSilenceMs, uploadBytesPerSecond }: Pace, onSilence: () => void) {
  const silence = createWatchdog(uploadSilenceMs, onSilence)
  const startedMs = performance.now()
  let pausedMs = 0
  let pausedAtMs = 0
  return {
    isTooSlow(bytes: number): boolean {
      const elapsedMs = performance.now() - startedMs - pausedMs
      return elapsedMs > UPLOAD_GRACE_MS && bytes < (elapsedMs / 1_000) * uploadBytesPerSecond
    },
    restart: () => silence.restart(),
    pause() {
      pausedAtMs = performance.now()
      silence.pause(pausedAtMs)
    },
    resume() {
      pausedMs += performance.now() - pausedAtMs
      silence.resume()
    },
    stop: () => silence.stop(),
  }
}
