import type { Dispatcher } from 'undici'
import { createTurns } from '../../platform/turns.ts'
import type { BodyReader } from '../body-reader.ts'
import { UpstreamError } from '../provider.ts'
import { wireHeadersOf, type UpstreamRequest } from '../upstream-request.ts'
import { createCallClock, type CallClock } from './call-clock.ts'
import { REFUSAL_MS, refusalIn, upstreamErrorOf, type Refusal } from './upstream-failures.ts'

/** The time that an upstream may take to close its side after the last part, so that the connection can be used again. */
const TRAILER_MS = 250
/** Bytes that may wait to be read. Beyond that, nothing more is taken from the connection. */
const WAITING_BYTES_MAX = 64 * 1024

/**
 * A provider that sends faster than a model can write (a whole answer at once, or what waited for a slow caller) brings
 * hundreds of parts in one read. All exchanges together do one step of such work in each round of the event loop.
 */
const nextStep = createTurns()

interface Target {
  pool: Dispatcher
  path: string
}

type Result<Piece> = IteratorResult<readonly Piece[], undefined>

/**
 * One request to an upstream, and its answer: all that has come since is handed out together. undici tells this object what
 * arrives, and nothing else stands between the two: an answer has hundreds of pieces, and there are thousands of answers at a time.
 */
export class Exchange<Part, Piece> implements AsyncIterableIterator<readonly Piece[]>, Dispatcher.DispatchHandler {
  readonly #request: UpstreamRequest
  readonly #reader: BodyReader<Part, Piece>
  readonly #signal: AbortSignal
  readonly #target: Target
  readonly #clock: CallClock
  readonly #onAbort = () => this.#stop(this.#signal.reason)
  readonly #onDeliveryDue = () => {
    this.#isDeliveryDue = false
    this.#deliver()
  }
  #controller: Dispatcher.DispatchController | undefined
  #refusal: Refusal | undefined
  #parts: Part[] = []
  #waitingBytes = 0
  /** The reader, while it waits for what comes next. */
  #waiting: PromiseWithResolvers<Result<Piece>> | undefined
  #isDeliveryDue = false
  #isSent = false
  #isStarted = false
  /** Nothing more comes. What has come before is still read. */
  #end: { failure?: unknown; isConnections?: boolean } | undefined
  /** The reader has read it all. */
  #isRead = false
  #trailer: NodeJS.Timeout | undefined

  constructor(request: UpstreamRequest, reader: BodyReader<Part, Piece>, signal: AbortSignal, target: Target) {
    this.#request = request
    this.#reader = reader
    this.#signal = signal
    this.#target = target
    this.#clock = createCallClock(request.timers, (kind) => this.#stop(new UpstreamError(kind)))
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Result<Piece>> {
    this.#waiting = Promise.withResolvers()
    const { promise } = this.#waiting
    if (this.#isSent) this.#goOn()
    else this.#send()
    return promise
  }

  /** Closes the connection at once, unless the answer has ended. */
  return(): Promise<Result<Piece>> {
    this.#parts = []
    if (!this.#end) this.#fail(new Error('nobody reads on'))
    this.#letGo()
    return Promise.resolve({ done: true, value: undefined })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#end) controller.abort(new Error('nobody waits for it'))
  }

  onRequestSent(): void {
    this.#request.onSent?.()
  }

  onResponseStart(_: unknown, status: number, headers: Dispatcher.ResponseData['headers']): void {
    if (status < 200 || this.#end) return
    const refusal = refusalIn(status, headers, this.#request)
    if (!refusal) return
    if (!refusal.isExplained) return this.#stop(refusal.error())
    this.#refusal = refusal
    this.#clock.stopAfter(REFUSAL_MS, () => this.#stop(refusal.error()))
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#end) return
    if (this.#refusal) {
      const isEnough = this.#refusal.add(bytes)
      if (isEnough) this.#stop(this.#refusal.error())
      return
    }
    this.#cutUp(bytes)
    // Bytes in which no part has ended do not wait for anybody.
    this.#waitingBytes = this.#parts.length === 0 ? 0 : this.#waitingBytes + bytes.length
    if (this.#waitingBytes > WAITING_BYTES_MAX) controller.pause()
  }

  onResponseEnd(): void {
    clearTimeout(this.#trailer)
    if (this.#end) return
    if (this.#refusal) return this.#stop(this.#refusal.error())
    this.#cutUp(undefined)
    this.#end ??= {}
    this.#wake()
  }

  onResponseError(_: unknown, error: Error): void {
    clearTimeout(this.#trailer)
    if (this.#end) return
    if (this.#refusal) return this.#stop(this.#refusal.error())
    this.#end = { failure: error, isConnections: true }
    this.#wake()
  }

  #send(): void {
    this.#isSent = true
    if (this.#signal.aborted) return this.#onAbort()
    this.#signal.addEventListener('abort', this.#onAbort, { once: true })
    const { pool, path } = this.#target
    const headers = wireHeadersOf(this.#request)
    pool.dispatch({ method: 'POST', path, headers, body: this.#request.body }, this)
  }

  #goOn(): void {
    if (!this.#isRead) this.#clock.resume(this.#reader.hasBegun())
    if (this.#parts.length > 0) {
      // The rest of a read waits for the next round, and that is no wait for the upstream.
      this.#clock.pause()
      void nextStep().then(this.#onDeliveryDue)
    } else if (this.#end) this.#deliver()
  }

  /** Undefined: the body has ended. */
  #cutUp(bytes: Buffer | undefined): void {
    try {
      if (bytes) this.#reader.split(bytes, this.#parts)
      else this.#reader.splitRest(this.#parts)
    } catch (error) {
      this.#fail(error)
    }
    this.#isStarted ||= this.#parts.length > 0
    // A comment is no sign of life.
    if (this.#parts.length > 0 || this.#end) this.#wake()
  }

  /** When the read of the socket is over: it may bring many pieces of a body. */
  #wake(): void {
    if (!this.#waiting || this.#isDeliveryDue) return
    this.#isDeliveryDue = true
    queueMicrotask(this.#onDeliveryDue)
  }

  #deliver(): void {
    const waiting = this.#waiting
    if (!waiting) return
    const pieces = this.#readStep()
    if (pieces.length > 0) {
      this.#waiting = undefined
      this.#clock.handOver()
      waiting.resolve({ done: false, value: pieces })
    } else if (this.#parts.length > 0 || !this.#end) {
      this.#clock.pause()
      this.#goOn()
    } else {
      const { failure, isConnections } = this.#end
      const error = isConnections ? this.#failureOf(failure) : failure
      this.#letGo()
      if (error === undefined) waiting.resolve({ done: true, value: undefined })
      else waiting.reject(error)
    }
  }

  /** Returns the pieces read, also those before a fault: the reader is told of that when it comes back for more. */
  #readStep(): readonly Piece[] {
    const pieces: Piece[] = []
    try {
      for (const part of this.#parts.splice(0, this.#reader.partsPerStep)) {
        for (const piece of this.#reader.read(part)) pieces.push(piece)
        if (!this.#reader.isLast(part)) continue
        this.#endEarly()
        break
      }
      if (this.#parts.length === 0) this.#takeMore()
      if (this.#parts.length === 0 && this.#end && this.#end.failure === undefined && !this.#isRead) {
        this.#isRead = true
        for (const piece of this.#reader.end()) pieces.push(piece)
      }
    } catch (error) {
      this.#parts = []
      this.#fail(error)
    }
    return pieces
  }

  /**
   * Anything that fails or comes after the last part is of no interest; the connection is left open for a moment, to be used
   * again.
   */
  #endEarly(): void {
    this.#parts = []
    if (!this.#end) this.#trailer = setTimeout(() => this.#controller?.abort(new Error('no end')), TRAILER_MS)
    this.#end = {}
  }

  #takeMore(): void {
    this.#waitingBytes = 0
    if (this.#controller?.paused) this.#controller.resume()
  }

  /** At once, whatever waits to be read. */
  #stop(error: unknown): void {
    if (this.#isRead) return
    this.#parts = []
    this.#fail(error)
    this.#wake()
  }

  #fail(failure: unknown): void {
    const isOpen = this.#end === undefined
    this.#end = { failure }
    if (isOpen) this.#controller?.abort(failure as Error)
  }

  #failureOf(error: unknown): UpstreamError {
    return this.#clock.isAfterBreak() ? new UpstreamError('reader_stalled') : upstreamErrorOf(error, this.#isStarted)
  }

  #letGo(): void {
    this.#waiting = undefined
    this.#isRead = true
    this.#end = {}
    this.#clock.stop()
    this.#signal.removeEventListener('abort', this.#onAbort)
  }
}
