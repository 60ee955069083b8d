/** A loopback server that answers with the bytes that it was given, whatever it is asked. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

export interface Play {
  pieces: readonly Buffer[]
  ending: 'ends' | 'breaks off' | 'stalls'
}

export interface Player {
  /** Where the play with this number is given. */
  urlOf(n: number): string
  give(n: number, play: Play): void
  take(n: number): void
  close(): void
}

export async function createPlayer(): Promise<Player> {
  const plays = new Map<number, Play>()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    let asked = ''
    socket.on('data', (bytes: Buffer) => {
      asked += bytes.toString('latin1')
      const end = asked.indexOf('\r\n\r\n')
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(asked)?.[1] ?? 0)
      if (end === -1 || asked.length < end + 4 + length) return
      const play = plays.get(Number(/\/play-(\d+)/.exec(asked)?.[1]))
      asked = ''
      void perform(socket, play)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    urlOf: (n) => `http://127.0.0.1:${port}/play-${n}`,
    give: (n, play) => void plays.set(n, play),
    take: (n) => void plays.delete(n),
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

async function perform(socket: Socket, play: Play | undefined): Promise<void> {
  for (const piece of play?.pieces ?? []) {
    if (!socket.writable) return
    socket.write(piece)
    // So that they arrive as several pieces, most of the time.
    await nextTurn()
  }
  if (play?.ending === 'breaks off') socket.resetAndDestroy()
  else if (play?.ending !== 'stalls') socket.end()
}

/** A body in an answer: with its length, in chunks, or up to the end of the connection. */
export function answerWith(body: Buffer, { status = '200 OK', contentType, framing }: Framed): Buffer {
  const head = `HTTP/1.1 ${status}\r\ncontent-type: ${contentType}\r\nconnection: close\r\n`
  if (framing === 'length') return Buffer.concat([Buffer.from(`${head}content-length: ${body.length}\r\n\r\n`), body])
  if (framing === 'close') return Buffer.concat([Buffer.from(`${head}\r\n`), body])
  const half = Math.floor(body.length / 2)
  const chunks = [body.subarray(0, half), body.subarray(half)].filter((chunk) => chunk.length > 0).flatMap(chunkOf)
  return Buffer.concat([Buffer.from(`${head}transfer-encoding: chunked\r\n\r\n`), ...chunks, Buffer.from('0\r\n\r\n')])
}

export interface Framed {
  status?: string | undefined
  contentType: string
  framing: 'length' | 'chunks' | 'close'
}

function chunkOf(bytes: Buffer): Buffer[] {
  return [Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]
}
