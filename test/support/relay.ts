/** A TCP relay in front of a server, for taking that server away from a client and giving it back. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface Relay {
  port: number
  /** Ends every connection and, until `mend`, every new one at once. */
  cut(): void
  mend(): void
  close(): Promise<void>
}

export async function createRelay(target: { host: string; port: number }): Promise<Relay> {
  const sockets = new Set<Socket>()
  let isCut = false

  function keep(socket: Socket, other: Socket): void {
    sockets.add(socket)
    socket.on('error', () => other.destroy())
    socket.on('close', () => {
      sockets.delete(socket)
      other.destroy()
    })
  }

  const server = createServer((near) => {
    if (isCut) {
      near.destroy()
      return
    }
    const far = connect(target)
    keep(near, far)
    keep(far, near)
    near.pipe(far)
    far.pipe(near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  function endAll(): void {
    for (const socket of sockets) socket.destroy()
  }

  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true
      endAll()
    },
    mend() {
      isCut = false
    },
    async close() {
      server.close()
      endAll()
      await once(server, 'close')
    },
  }
}
