/**
 * How many calls per second one hot wallet authorises and settles through our store code, and how many the same SQL in
 * the same batch size does bare, through pgbench; and how many with budgets on every call. All in one run, because machines
 * differ and change.
 */
import { execFile, fork } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { createSecrets, type Secrets } from '../src/platform/secrets.ts'
import { uuidv7 } from '../src/platform/uuid.ts'
import { openStore } from '../src/store/database.ts'
import { batchOf } from '../src/store/billing/ledger/ledger-batch.ts'
import { parseCredits } from '../src/rules/money.ts'
import { NO_LIMITS, replaceLimits } from '../src/store/billing/limits.ts'
import { createTestDatabase } from '../test/support/database.ts'
import { loginUrl } from '../test/support/logins.ts'
import { addModel, addProject, addProvider, walletOf } from '../test/support/world.ts'
import { CHARGE, holdRequest, settlement, type Wallet } from './wallet-load.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '8' },
    processes: { type: 'string', default: '2' },
    concurrency: { type: 'string', default: '256' },
  },
})
const seconds = Number(values.seconds)
const processes = Number(values.processes)
const concurrency = Number(values.concurrency)

const CREDITS = '900000000'
const END_USERS = 1_000

interface Report {
  calls: number
  seconds: number
  batches: number
  items: number
  p50: number
  p99: number
  cpuSeconds: number
}

const database = await createTestDatabase()
const store = openStore({ url: database.url, applicationName: 'parley bench' })
try {
  const secrets = createSecrets([{ version: 1, bytes: Buffer.alloc(32, 7) }])
  await addProvider(store, secrets, 'none', 'http://127.0.0.1:9')
  await addModel(store, { id: 'bench', provider: 'none' })
  console.log(
    `one hot wallet, ${processes} processes x ${concurrency} calls at a time, ${seconds} s, fsync ${await fsync()}`,
  )
  const bare = await measure(await addWallet(secrets, []))
  const endUserIds = Array.from({ length: END_USERS }, () => uuidv7())
  const budgeted = await measure(
    await addWallet(secrets, endUserIds),
    'with a budget of the key pair and one of each end user',
  )
  const perBatch = Math.max(1, Math.round(bare.items / 2))
  const batches = Math.ceil((bare.callsPerSecond * Math.min(seconds, 5)) / processes / perBatch)
  const pgbench = await runPgbench(await addWallet(secrets, []), perBatch, batches)
  console.log(
    `pgbench  ${whole(pgbench)} calls/s, the same SQL bare, ${processes} clients, ${perBatch} holds + ${perBatch} settles a statement`,
  )
  console.log(
    `ratio ${(bare.callsPerSecond / pgbench).toFixed(2)}, with budgets ${(budgeted.callsPerSecond / pgbench).toFixed(2)}`,
  )
} finally {
  await store.close()
  await database.drop()
}

/** With end users: every one has a budget, and so has the key pair, and none is ever used up. */
async function addWallet(secrets: Secrets, endUserIds: string[]): Promise<Wallet> {
  const { id: projectId, publisherId } = await addProject(store, secrets, { credits: CREDITS })
  const key = await store.db
    .selectFrom('key_pairs')
    .select('id')
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  const budget = { ...NO_LIMITS, month_nanos: parseCredits(CREDITS) }
  if (endUserIds.length > 0) {
    await replaceLimits(store.db, { scope: 'key_pair', subject: key.id, publisherId, projectId }, budget)
    await replaceLimits(store.db, { scope: 'end_users', subject: projectId, publisherId, projectId }, budget)
  }
  return { projectId, keyPairId: key.id, endUserIds }
}

/** Through our store code, and checked to the nano. */
async function measure(wallet: Wallet, how = ''): Promise<{ callsPerSecond: number; items: number }> {
  const before = await cpuOfPostgres()
  const reports = await Promise.all(Array.from({ length: processes }, () => runLoad(wallet)))
  const callsPerSecond = sum(reports, (report) => report.calls / report.seconds)
  const items = sum(reports, (report) => report.items) / sum(reports, (report) => report.batches)
  const calls = sum(reports, (report) => report.calls)
  const node = sum(reports, (report) => report.cpuSeconds)
  console.log(
    `parley   ${whole(callsPerSecond)} calls/s, batches of ${items.toFixed(0)}, hold p50 ${mean(reports, (r) => r.p50)} ms p99 ${mean(reports, (r) => r.p99)} ms, ` +
      `node ${perCall(node, calls)}, postgres ${perCall((await cpuOfPostgres()) - before, calls)}${how && `, ${how}`}`,
  )
  const { balance, held, openHolds } = await walletOf(store, wallet.projectId)
  if (held !== 0n || openHolds !== 0) throw new Error(`${openHolds} holds left open`)
  const charged = BigInt(calls) * CHARGE
  if (balance !== parseCredits(CREDITS) - charged) throw new Error('the balance is not what was charged')
  if (wallet.endUserIds.length > 0) await checkCounts(wallet, charged)
  return { callsPerSecond, items }
}

async function checkCounts({ projectId }: Wallet, charged: bigint): Promise<void> {
  const rows = await store.db
    .selectFrom('limit_counts')
    .select(['scope', 'held_nanos', 'month_nanos'])
    .where('project_id', '=', projectId)
    .execute()
  for (const scope of ['key_pair', 'end_user']) {
    const own = rows.filter((row) => row.scope === scope)
    const counted = own.reduce((total, row) => total + row.month_nanos, 0n)
    if (counted !== charged || own.some((row) => row.held_nanos !== 0n))
      throw new Error(`what is counted for ${scope} is not what was charged`)
  }
}

function runLoad(wallet: Wallet): Promise<Report> {
  const child = fork(new URL('wallet-load.ts', import.meta.url), [
    loginUrl(database.url, 'gateway'),
    JSON.stringify(wallet),
    String(seconds),
    String(concurrency),
  ])
  return new Promise((resolve, reject) => {
    child.once('message', (report) => resolve(report as Report))
    child.once('exit', (code) => code === 0 || reject(new Error(`load process ended with ${code}`)))
  })
}

/** Each client runs its own script of ready-made statements: batch n+1 holds while it settles batch n, as a busy lane does. */
async function runPgbench(wallet: Wallet, perBatch: number, batches: number): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  try {
    const scripts = await Promise.all(
      Array.from({ length: processes }, async (_, client) => {
        const path = join(folder, `${client}.sql`)
        await writeFile(path, scriptOf(wallet, perBatch, batches))
        return path
      }),
    )
    const times = await Promise.all(scripts.map((script) => timePgbench(script)))
    return times.reduce((total, took) => total + (perBatch * batches) / took, 0)
  } finally {
    await rm(folder, { recursive: true })
  }
}

function scriptOf(wallet: Wallet, perBatch: number, batches: number): string {
  const gatewayId = uuidv7()
  const lines: string[] = []
  let open: string[] = []
  for (let batch = 0; batch <= batches; batch++) {
    const next = batch < batches ? Array.from({ length: perBatch }, () => uuidv7()) : []
    const [projects, settles, extensions, holds] = batchOf([
      ...open.map((id) => ({ part: 'settle', settlement: settlement(wallet, id) }) as const),
      ...next.map((id) => ({ part: 'hold', request: holdRequest(wallet, id) }) as const),
    ])
    const literals = [`{${projects.join(',')}}`, settles, extensions, holds].map((value) =>
      value === null ? 'null' : `'${value}'`,
    )
    lines.push(`select * from ledger_apply('${gatewayId}', ${literals.join(', ')});`)
    open = next
  }
  return lines.join('\n')
}

async function timePgbench(script: string): Promise<number> {
  const settings =
    '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off'
  const { stdout } = await promisify(execFile)(
    'pgbench',
    ['-n', '-c', '1', '-t', '1', '-f', script, '-d', database.url],
    {
      env: { ...process.env, PGOPTIONS: settings },
      maxBuffer: 1 << 26,
    },
  )
  const latency = /latency average = ([\d.]+) ms/.exec(stdout)?.[1]
  if (!latency || !stdout.includes('actually processed: 1/1')) throw new Error(`pgbench failed:\n${stdout}`)
  return Number(latency) / 1000
}

async function fsync(): Promise<string> {
  const { stdout } = await promisify(execFile)('psql', ['-At', '-c', 'show fsync', database.url])
  return stdout.trim()
}

/** CPU seconds used so far by all PostgreSQL processes of this machine. */
async function cpuOfPostgres(): Promise<number> {
  const { stdout } = await promisify(execFile)('sh', [
    '-c',
    "cat /proc/[0-9]*/stat 2>/dev/null | grep '(postgres)' || true",
  ])
  const ticks = stdout.split('\n').map((line) => line.slice(line.lastIndexOf(')') + 2).split(' '))
  // User and system time of each process, and of its children that have ended: closed connections count to their parent.
  return (
    ticks.reduce((total, fields) => total + fields.slice(11, 15).reduce((part, field) => part + Number(field), 0), 0) /
    100
  )
}

function sum(reports: Report[], pick: (report: Report) => number): number {
  return reports.reduce((total, report) => total + pick(report), 0)
}

function mean(reports: Report[], pick: (report: Report) => number): string {
  return (sum(reports, pick) / reports.length).toFixed(1)
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

function perCall(cpuSeconds: number, calls: number): string {
  return `${((cpuSeconds / calls) * 1e6).toFixed(0)} µs/call`
}
