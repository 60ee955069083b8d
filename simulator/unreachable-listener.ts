/** The sleeping thread of `createBlackHole`: its event loop stands still, so it never accepts what it listens for. */
import { createServer } from 'node:net'
import { workerData } from 'node:worker_threads'

const shared: Int32Array = workerData
const server = createServer()
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP listener has a port')
  Atomics.store(shared, 0, address.port)
  Atomics.notify(shared, 0)
  Atomics.wait(shared, 1, 0)
  server.close()
})
