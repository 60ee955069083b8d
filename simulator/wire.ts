/** One exchange as seen from below: what faults need to do to a socket that an HTTP library is built to prevent. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { TLSSocket } from 'node:tls'

/** The peer closed the connection before the exchange was over. Every wait on the wire ends with it. */
export class PeerGone extends Error {}

export interface Wire {
  head(status: number, headers: Record<string, string>): void
  /** A response without length and without chunks: only the end of the connection ends it. */
  unframe(): void
  /** Waits while the peer does not read. */
  write(bytes: string | Uint8Array): Promise<void>
  /** In pieces, each its own write to the socket, so that the peer can see every boundary. */
  writeSplit(whole: string | Uint8Array, pieceBytes: number): Promise<void>
  /** Past the HTTP library, straight to the socket. */
  raw(bytes: string | Uint8Array): void
  pause(ms: number): Promise<void>
  end(): Promise<void>
  /** Closes the connection, whatever the headers promised, once all that was written has left. */
  hangUp(): Promise<void>
  /** TCP reset; over TLS, where Node does not offer it, the connection is closed without a goodbye. */
  reset(): void
}

export function createWire(response: ServerResponse, socket: Socket, impatientMs = Infinity): Wire {
  // The peer may have left while its request was being read, before anyone listened for it.
  let closed = response.destroyed
  let giveUp: (() => void) | undefined
  response.once('close', () => {
    closed = true
    giveUp?.()
  })

  // An exchange waits for one thing at a time, so one slot is enough, and 10,000 slow streams cost 10,000 closures.
  async function waitFor(start: (done: () => void) => (() => void) | void): Promise<void> {
    if (closed) throw new PeerGone()
    await new Promise<void>((resolve, reject) => {
      const cancel = start(() => {
        giveUp = undefined
        resolve()
      })
      giveUp = () => {
        cancel?.()
        reject(new PeerGone())
      }
    })
  }

  async function write(bytes: string | Uint8Array): Promise<void> {
    if (closed) throw new PeerGone()
    if (response.write(bytes)) return
    const timer = Number.isFinite(impatientMs) ? setTimeout(() => socket.destroy(), impatientMs) : undefined
    await waitFor((done) => void response.once('drain', done)).finally(() => clearTimeout(timer))
  }

  function pause(ms: number): Promise<void> {
    return waitFor((done) => {
      const timer = setTimeout(done, ms)
      return () => clearTimeout(timer)
    })
  }

  return {
    head: (status, headers) => void response.writeHead(status, headers),
    unframe() {
      response.useChunkedEncodingByDefault = false
      response.shouldKeepAlive = false
    },
    write,
    async writeSplit(whole, pieceBytes) {
      const bytes = Buffer.from(whole)
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        await write(bytes.subarray(at, at + pieceBytes))
        await turn()
      }
    },
    raw(bytes) {
      if (!socket.destroyed) socket.write(bytes)
    },
    pause,
    end: () => waitFor((done) => void response.end(done)),
    hangUp: () => waitFor((done) => void socket.end(done)),
    reset() {
      if (socket instanceof TLSSocket) socket.destroy()
      else socket.resetAndDestroy()
    },
  }
}
