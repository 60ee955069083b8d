import { after } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { createLog } from '../../src/platform/log.ts'
import { serve } from '../../src/serve.ts'
import { databaseEnv } from '../support/logins.ts'
import { createRelay, type Relay } from '../support/relay.ts'
import { untilReady, type World } from '../support/world.ts'

/** Another gateway of the same Parley, for tests that put one under stress or end it. It ends with its test at the latest. */
export interface SecondGateway {
  url: string
  opsUrl: string
  /** Errors that it has logged, line by line. */
  logs: readonly string[]
  project: World['project']
  stop(): Promise<void>
}

export async function startGateway(world: World, env: Record<string, string> = {}): Promise<SecondGateway> {
  const gateway = await launchGateway(world, env)
  // Also when an assertion fails midway: a server that is left running would keep the process alive.
  after(() => gateway.stop())
  return gateway
}

/** A gateway whose way to the store can be cut. */
export async function startCuttable(
  world: World,
  env: Record<string, string> = {},
): Promise<SecondGateway & { relay: Relay }> {
  const database = new URL(String(world.env.DATABASE_URL))
  const relay = await createRelay({ host: database.hostname, port: Number(database.port || 5432) })
  database.hostname = '127.0.0.1'
  database.port = String(relay.port)
  const gateway = await launchGateway(world, { ...databaseEnv(database.href), ...env })
  after(async () => {
    relay.mend()
    await gateway.stop()
    await relay.close()
  })
  return { ...gateway, relay }
}

/** One that whoever asks for it ends: in a `before`, nothing is known yet of the tests that it is for. */
export async function launchGateway(world: World, env: Record<string, string>): Promise<SecondGateway> {
  const logs: string[] = []
  const log = createLog('error', { write: (line) => logs.push(line) })
  const running = await serve(readConfig({ ...world.env, ...env }), ['gateway'], log)
  await untilReady(running.opsUrl)
  const { opsUrl } = running
  return { url: String(running.url), opsUrl, logs, project: world.project, stop: () => running.stop() }
}
