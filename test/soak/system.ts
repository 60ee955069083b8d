/** One process that is gateway and worker, as small installations run it, with PostgreSQL and a simulated provider. */
import { fork, spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { readConfig } from '../../src/config.ts'
import { createSecrets, type Secrets } from '../../src/platform/secrets.ts'
import type { Store } from '../../src/store/database.ts'
import { ROOT } from '../support/commands.ts'
import { createTestDatabase, openTestStore } from '../support/database.ts'
import { databaseEnv } from '../support/logins.ts'
import { addModel, addProvider, untilReady } from '../support/world.ts'
import type { Sample } from './probe.ts'

export interface System {
  url: string
  store: Store
  secrets: Secrets
  /** Lines of the process that are no ordinary ones. */
  alarms: string[]
  sample(): Promise<Sample>
  /** Ends the process as an operator does; with what is wrong with how it ended. */
  stop(): Promise<string | undefined>
  close(): Promise<void>
}

export const MODEL = 'soak'
export const EMBEDDING_MODEL = 'soak-embedding'
/** Each fails in its own way, at a provider of its own: none keeps calls from the others. */
export const FAULTS = ['U11-500', 'U14-rst', 'U12-midstream', 'U7-badjson', 'U14-eof', 'U10']
export const modelOf = (fault: string) => `soak-${fault}`
const providerOf = (fault: string) => `faulty-${fault.toLowerCase()}`

const TRIED_AGAIN =
  /"level":"warn".*"msg":"(?:failed, will be tried again|the ledger cannot be written: calls are refused)"/
const STARTS_WITHIN_MS = 60_000
const ENDS_WITHIN_MS = 30_000
const STATEMENT_MS = 60_000

export async function startSystem(): Promise<System> {
  const database = await createTestDatabase()
  const children: ChildProcess[] = []
  process.once('exit', () => children.forEach((child) => child.kill('SIGKILL')))
  const simulator = await startSimulator(children)
  const env = {
    ...databaseEnv(database.url),
    PARLEY_SECRET: randomBytes(32).toString('base64'),
    PARLEY_PORT: '0',
    PARLEY_OPS_PORT: '0',
    PARLEY_AUTO_MIGRATE: 'false',
    PARLEY_DRAIN_DELAY_MS: '0',
    PARLEY_DRAIN_GRACE_MS: '5000',
  }
  const secrets = createSecrets(readConfig(env).PARLEY_SECRET)
  // Patient: what is judged is the process, and not how soon a busy machine makes a tenant for it.
  const store = openTestStore({ url: database.url, applicationName: 'parley soak', statementTimeoutMs: STATEMENT_MS })
  await addModels(store, secrets, simulator)
  const alarms: string[] = []
  const { child, url } = await startParley(env, alarms, children)
  return {
    url,
    store,
    secrets,
    alarms,
    async sample() {
      child.send('sample')
      const [sample] = (await once(child, 'message')) as [Sample]
      return sample
    },
    async stop() {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), ENDS_WITHIN_MS)
      const [code, signal] = (await exited) as [number | null, string | null]
      clearTimeout(late)
      return code === 0 ? undefined : `the process ended with ${signal ?? code}`
    },
    async close() {
      for (const each of children) each.kill('SIGKILL')
      await store.close()
      await database.drop()
    },
  }
}

async function addModels(store: Store, secrets: Secrets, simulatorUrl: string): Promise<void> {
  await addProvider(store, secrets, 'simulator', `${simulatorUrl}/v1`)
  await addModel(store, { id: MODEL, provider: 'simulator', upstreamModel: 'sim' })
  await addModel(store, { id: EMBEDDING_MODEL, kind: 'embedding', provider: 'simulator', upstreamModel: 'sim' })
  for (const fault of FAULTS) {
    await addProvider(store, secrets, providerOf(fault), `${simulatorUrl}/v1`)
    await addModel(store, {
      id: modelOf(fault),
      provider: providerOf(fault),
      upstreamModel: `sim?tokens=8&fault=${fault}`,
    })
  }
}

/** In a process of its own: what it remembers of calls is not to be measured. */
async function startSimulator(children: ChildProcess[]): Promise<string> {
  const child = spawn(process.execPath, [join(ROOT, 'simulator/main.ts'), '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  return firstMatch(child, /listening on (\S+)/)
}

async function startParley(env: Record<string, string>, alarms: string[], children: ChildProcess[]) {
  const child = fork(join(ROOT, 'src/main.ts'), ['serve', 'gateway', 'worker'], {
    // As bin/parley starts it, and with what the probe needs.
    execArgv: ['--max-semi-space-size=64', '--expose-gc', '--import', join(import.meta.dirname, 'probe.ts')],
    env: { PATH: process.env.PATH ?? '', ...env },
    silent: true,
  })
  children.push(child)
  child.stderr?.setEncoding('utf8').on('data', (text: string) => alarms.push(text.trim()))
  const lines = createInterface(child.stdout!)
  lines.on('line', (line) => {
    if (/"level":"(?:warn|error|fatal)"/.test(line)) alarms.push(line)
    // A job that failed on a busy machine and went well a second later has done what it should.
    const [, job] = /"job":"([^"]+)".*"msg":"recovered"/.exec(line) ?? []
    const failed = alarms.findIndex(
      (alarm) => job !== undefined && alarm.includes(`"job":"${job}"`) && TRIED_AGAIN.test(alarm),
    )
    if (failed !== -1) alarms.splice(failed, 1)
  })
  const said = await firstMatch(child, /("url":"[^"]+".*"msg":"listening")/)
  const [, url = ''] = /"url":"([^"]+)"/.exec(said) ?? []
  const [, opsUrl = ''] = /"opsUrl":"([^"]+)"/.exec(said) ?? []
  await untilReady(opsUrl)
  return { child, url }
}

function firstMatch(child: ChildProcess, pattern: RegExp): Promise<string> {
  const found = Promise.withResolvers<string>()
  let text = ''
  child.stdout!.setEncoding('utf8').on('data', (piece: string) => {
    if (text.length > 100_000) return
    text += piece
    const [, match] = pattern.exec(text) ?? []
    if (match !== undefined) found.resolve(match)
  })
  const late = setTimeout(() => found.reject(new Error(`it does not start: ${text}`)), STARTS_WITHIN_MS)
  child.once('exit', () => found.reject(new Error(`it does not start: ${text}`)))
  return found.promise.finally(() => clearTimeout(late))
}
