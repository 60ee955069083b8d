import { readConfig } from '../../src/config.ts'
import { createLog } from '../../src/platform/log.ts'
import { serve } from '../../src/serve.ts'
import { createRelay, type Relay } from '../support/relay.ts'
import { untilReady, type World } from '../support/world.ts'

/** Another gateway of the same Parley, for tests that put one under stress or end it. */
export interface SecondGateway {
  url: string
  opsUrl: string
  project: World['project']
  stop(): Promise<void>
}

export async function startGateway(world: World, env: Record<string, string> = {}): Promise<SecondGateway> {
  const log = createLog('error', { write: () => undefined })
  const running = await serve(readConfig({ ...world.env, ...env }), ['gateway'], log)
  await untilReady(running.opsUrl)
  return { url: String(running.url), opsUrl: running.opsUrl, project: world.project, stop: () => running.stop() }
}

/** A gateway whose way to the store can be cut. */
export async function startCuttable(world: World): Promise<SecondGateway & { relay: Relay }> {
  const database = new URL(String(world.env.DATABASE_URL))
  const relay = await createRelay({ host: database.hostname, port: Number(database.port || 5432) })
  database.hostname = '127.0.0.1'
  database.port = String(relay.port)
  const gateway = await startGateway(world, { DATABASE_URL: database.href })
  return {
    ...gateway,
    relay,
    async stop() {
      relay.mend()
      await gateway.stop()
      await relay.close()
    },
  }
}
