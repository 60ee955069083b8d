import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig } from 'pg'

/** PostgreSQL's code for it, also where it is the login or the database that may have no more. */
const NO_CONNECTION_LEFT = '53300'
const AGAIN_MS = 250

/** Asks again while the server has no connection left, as others end all the time. */
export async function connectPatiently<Connection>(
  connect: () => Promise<Connection>,
  waitMs: number,
): Promise<Connection> {
  const giveUpAtMs = performance.now() + waitMs
  for (;;) {
    try {
      return await connect()
    } catch (error) {
      const isFull = (error as { code?: unknown }).code === NO_CONNECTION_LEFT
      if (!isFull || performance.now() + AGAIN_MS > giveUpAtMs) throw error
    }
    await sleep(AGAIN_MS)
  }
}

/** As long as a command waits for a store. */
const CLIENT_WAIT_MS = 10_000

/** One connection of its own. What breaks it later is told by the statement that runs then, and kept for who asks. */
export function connectClient(config: ClientConfig): Promise<Client> {
  return connectPatiently(async () => {
    const client = new Client(config)
    // The first says why; another one follows, which only says that it is gone.
    client.on('error', (error) => losses.has(client) || losses.set(client, error))
    await client.connect()
    return client
  }, CLIENT_WAIT_MS)
}

const losses = new WeakMap<Client, Error>()

/** Why the connection broke, if it did while nothing ran on it: the next statement only learns that it is gone. */
export function lossOf(client: Client): Error | undefined {
  return losses.get(client)
}
