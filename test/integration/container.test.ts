/**
 * Builds and runs the image without Docker: the same steps, in a folder. Two things differ. The folder stands for the
 * root of the image, so absolute paths are moved below it; and the user `node` of the base image may not exist here,
 * so that when root runs the tests, the process runs as another user without any rights, which is stricter.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { readConfig, VARIABLES } from '../../src/config.ts'
import { ROOT, run, start, type RunOptions, type Started } from '../support/commands.ts'
import { filesToCopy, ignoredBy, instructionsOf, interpolate, parseYaml, variablesOf } from '../support/container.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { untilReady } from '../support/world.ts'

const NOBODY = 65_534
const uid = process.getuid?.() === 0 ? NOBODY : undefined

interface Service {
  image?: string
  environment?: Record<string, string>
  entrypoint?: string[]
  command?: string[]
  stop_grace_period?: string
}

const instructions = instructionsOf(fileOf('Dockerfile'))
const { services } = parseYaml(fileOf('compose.yaml')) as unknown as { services: Record<string, Service> }
const workdir = only('WORKDIR')
let image: string
let database: TestDatabase

before(async () => {
  image = await mkdtemp(join(tmpdir(), 'parley-image-'))
  await chmod(image, 0o755)
  database = await createTestDatabase()
})
after(async () => {
  await rm(image, { recursive: true, force: true })
  await database.drop()
})

function fileOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

function only(name: string): string {
  const found = instructions.filter((instruction) => instruction.name === name)
  assert.equal(found.length, 1, `one ${name} is expected`)
  return found[0]?.text ?? ''
}

function listOf(name: string): string[] {
  return JSON.parse(only(name)) as string[]
}

/** Where a path of the image is here. */
function within(path: string): string {
  return path.startsWith('/') ? join(image, path) : join(image, workdir, path)
}

async function build(): Promise<void> {
  await mkdir(within(workdir), { recursive: true })
  for (const { name, text } of instructions) {
    if (name === 'COPY') await copy(text.split(' '))
    else if (name === 'RUN') await install(text.replace(/^(?:--\S+ )+/, ''))
    else assert.match(name, /^(?:FROM|ENV|WORKDIR|USER|EXPOSE|HEALTHCHECK|ENTRYPOINT|CMD)$/)
  }
}

async function copy(paths: string[]): Promise<void> {
  const to = paths.pop() ?? ''
  for (const path of filesToCopy(ROOT, fileOf('.dockerignore'), paths)) {
    // Ours copy each folder to its own name, and files into a folder.
    const target = within(to.endsWith('/') ? join(to, path.slice(path.lastIndexOf('/') + 1)) : path)
    assert.ok(to.endsWith('/') || path.startsWith(`${to}/`), `COPY ${path} ${to} is not understood by this test`)
    await mkdir(dirname(target), { recursive: true })
    await cp(join(ROOT, path), target)
  }
}

async function install(command: string): Promise<void> {
  assert.match(command, /^npm ci --omit=dev/, 'other steps are not understood by this test')
  const env = { ...variablesOf(only('ENV')), npm_config_prefer_offline: 'true' }
  const { code, stdout, stderr } = await run('sh', ['-c', command], { cwd: within(workdir), env, withinMs: 120_000 })
  assert.equal(code, 0, `${stdout}${stderr}`)
}

const PORTS = { PARLEY_PORT: '0', PARLEY_CONSOLE_PORT: '0', PARLEY_OPS_PORT: '0' }
const SECRET = randomBytes(32).toString('base64')

/** What compose gives to a service, with its hosts and ports moved to this machine. */
function environmentOf(service: string, change: Record<string, string>): RunOptions {
  const given = Object.entries(services[service]?.environment ?? {}).map(([name, value]) => {
    return [name, interpolate(value, { PARLEY_SECRET: SECRET })]
  })
  const env = { ...variablesOf(only('ENV')), ...(Object.fromEntries(given) as Record<string, string>), ...change }
  return { env: { ...env, HOME: '/' }, cwd: within(workdir), ...(uid !== undefined && { uid }) }
}

function launch(service: string, options: RunOptions, change: (argument: string) => string = (same) => same): Started {
  const entrypoint = services[service]?.entrypoint ?? listOf('ENTRYPOINT')
  const command = services[service]?.command ?? listOf('CMD')
  const [program = '', ...rest] = [...entrypoint, ...command].map(change)
  return start(program.startsWith('/') ? within(program) : program, rest, options)
}

test('the image holds the pinned Node, runs without rights, and takes no secret and no test with it', () => {
  assert.equal(only('FROM').split('-')[0], `node:${fileOf('.nvmrc').trim()}`)
  assert.notEqual(only('USER'), 'root')
  const isIgnored = ignoredBy(fileOf('.dockerignore'))
  for (const path of ['.env', '.git/config', '.parley/secret', 'node_modules/pg/x.js', 'src/rules/money.test.ts']) {
    assert.ok(isIgnored(path), `${path} would be sent to the builder`)
  }
  assert.ok(!isIgnored('src/rules/money.ts') && !isIgnored('scripts/seed.ts') && isIgnored('scripts/dev.ts'))
})

test('compose gives Parley variables that it reads, and time to drain', () => {
  const { environment = {}, stop_grace_period } = services.parley ?? {}
  for (const name of Object.keys(environment)) assert.ok(VARIABLES.includes(name), `${name} is read by nobody`)
  assert.throws(() => interpolate(environment.PARLEY_SECRET ?? '', {}), /openssl rand -base64 32/)
  const url = new URL(interpolate(environment.DATABASE_URL ?? '', {}))
  const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = services[url.hostname]?.environment ?? {}
  assert.deepEqual(
    [url.username, url.password, url.pathname],
    [POSTGRES_USER, interpolate(POSTGRES_PASSWORD ?? '', {}), `/${POSTGRES_DB}`],
  )
  const config = readConfig({ DATABASE_URL: url.href, PARLEY_SECRET: SECRET })
  const graceMs = Number(/^(\d+)s$/.exec(stop_grace_period ?? '')?.[1]) * 1_000
  assert.ok(graceMs > config.PARLEY_DRAIN_DELAY_MS + config.PARLEY_DRAIN_GRACE_MS + 15_000)
})

test('what the Dockerfile builds answers a request with the demo of compose.yaml, and ends in order', async () => {
  await build()
  const DATABASE_URL = database.url
  const served = launch('parley', environmentOf('parley', { DATABASE_URL, ...PORTS }))
  const simulator = launch('simulator', environmentOf('simulator', {}), (argument) =>
    argument === '9100' ? '0' : argument,
  )
  try {
    const lines = await served.untilPrinted(/"msg":"listening"/, 20_000)
    const [, port = ''] = /"url":"http:\/\/0\.0\.0\.0:(\d+)"/.exec(lines) ?? []
    const [, opsPort = ''] = /"opsUrl":"http:\/\/0\.0\.0\.0:(\d+)"/.exec(lines) ?? []
    await untilReady(`http://127.0.0.1:${opsPort}`)
    assert.equal(await healthOf(opsPort), 0)
    assert.equal(await healthOf('1'), 1)

    const [, upstreamPort = ''] =
      /listening on \S+:(\d+)/.exec(await simulator.untilPrinted(/listening on/, 10_000)) ?? []
    const seed = launch('seed', environmentOf('seed', { DATABASE_URL, PARLEY_PORT: port }), (argument) =>
      argument.replace('//simulator:9100/', `//127.0.0.1:${upstreamPort}/`),
    )
    assert.equal(await seed.end(undefined, 20_000), 0, seed.output)
    const curl = seed.output.slice(seed.output.indexOf('curl '))
    const answer = await untilAnswered(curl)
    assert.equal(answer.object, 'chat.completion', JSON.stringify(answer))

    assert.equal(await served.end('SIGTERM', 20_000), 0, served.output)
  } finally {
    await served.end('SIGKILL', 0)
    await simulator.end('SIGTERM', 5_000)
  }
})

/** The HEALTHCHECK, as Docker runs it. */
async function healthOf(opsPort: string): Promise<number | null> {
  const [, command = ''] = /^.*?CMD (\[.*\])$/.exec(only('HEALTHCHECK')) ?? []
  const [program = '', ...args] = JSON.parse(command) as string[]
  return (await run(program, args, environmentOf('parley', { PARLEY_OPS_PORT: opsPort }))).code
}

interface Answer {
  object?: string
  /** Only in a refusal. */
  statusCode?: number
}

/** A gateway looks for changes to the catalogue once a second. */
async function untilAnswered(curl: string): Promise<Answer> {
  for (let attempt = 0; ; attempt++) {
    const answer = JSON.parse((await run('sh', ['-c', curl])).stdout) as Answer
    if (answer.statusCode !== 422 || attempt === 20) return answer
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}
