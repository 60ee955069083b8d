/**
 * Builds and runs the image without Docker: the same steps, in a folder for each stage. Three things differ. The folder
 * stands for the root of the image, so absolute paths are moved below it; the user `node` of the base image may not exist
 * here, so that when root runs the tests, the process runs as another user without any rights, which is stricter; and the
 * stage that builds borrows the packages of this checkout, which are proven to be the locked ones, while those of the
 * image itself are installed.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { LOGIN_VARIABLES, readConfig, VARIABLES } from '../../src/config.ts'
import { ROOT, run, start, type RunOptions, type Started } from '../support/commands.ts'
import {
  copyOf,
  filesToCopy,
  ignoredBy,
  interpolate,
  parseYaml,
  stagesOf,
  variablesOf,
  type Copy,
  type Stage,
} from '../support/container.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { databaseEnv, loginUrl } from '../support/logins.ts'
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

const stages = stagesOf(fileOf('Dockerfile'))
const last = stages.at(-1) ?? assert.fail('the Dockerfile has no stage')
const { services } = parseYaml(fileOf('compose.yaml')) as unknown as { services: Record<string, Service> }
let folder: string
let database: TestDatabase

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-image-'))
  await chmod(folder, 0o755)
  for (const stage of stages) await build(stage)
  database = await createTestDatabase()
})
after(async () => {
  await rm(folder, { recursive: true, force: true })
  await database.drop()
})

function fileOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

function only(name: string, stage = last): string {
  const found = stage.instructions.filter((instruction) => instruction.name === name)
  assert.equal(found.length, 1, `one ${name} is expected`)
  return found[0]?.text ?? ''
}

function listOf(name: string): string[] {
  return JSON.parse(only(name)) as string[]
}

/** Where a path of a stage is here; the last stage is the image. */
function within(path: string, stage = last): string {
  const root = join(folder, String(stages.indexOf(stage)))
  return path.startsWith('/') ? join(root, path) : join(root, only('WORKDIR', stage), path)
}

async function build(stage: Stage): Promise<void> {
  await mkdir(within('.', stage), { recursive: true })
  for (const { name, text } of stage.instructions) {
    if (name === 'COPY') await copy(copyOf(text), stage)
    else if (name === 'RUN') await runStep(text.replace(/^(?:--\S+ )+/, ''), stage)
    else assert.match(name, /^(?:ENV|WORKDIR|USER|EXPOSE|HEALTHCHECK|ENTRYPOINT|CMD)$/)
  }
}

async function copy({ from, sources, to }: Copy, stage: Stage): Promise<void> {
  if (from !== undefined) {
    const origin = stages.find(({ name }) => name === from) ?? assert.fail(`there is no stage ${from}`)
    assert.ok(sources.length === 1 && !to.endsWith('/'), 'other copies between stages are not understood by this test')
    await cp(within(sources[0] ?? '', origin), within(to, stage), { recursive: true })
    return
  }
  for (const path of filesToCopy(ROOT, fileOf('.dockerignore'), sources)) {
    // Ours copy each folder to its own name, and files into a folder.
    const target = within(to.endsWith('/') ? join(to, path.slice(path.lastIndexOf('/') + 1)) : path, stage)
    assert.ok(to.endsWith('/') || path.startsWith(`${to}/`), `COPY ${path} ${to} is not understood by this test`)
    await mkdir(dirname(target), { recursive: true })
    await cp(join(ROOT, path), target)
  }
}

async function runStep(command: string, stage: Stage): Promise<void> {
  assert.match(command, /^(?:npm (?:ci|run build)|bin\/parley)\b/, 'other steps are not understood by this test')
  if (command.startsWith('npm ci') && !command.includes('--omit=dev')) {
    expectLockedPackages()
    return symlink(join(ROOT, 'node_modules'), within('node_modules', stage))
  }
  const given = stage === last ? variablesOf(only('ENV')) : {}
  const env = { ...given, npm_config_prefer_offline: 'true' }
  const { code, stdout, stderr } = await run('sh', ['-c', command], { cwd: within('.', stage), env, withinMs: 300_000 })
  assert.equal(code, 0, `${command}\n${stdout}${stderr}`)
}

interface LockFile {
  packages: Record<string, { version?: string; dev?: boolean; devOptional?: boolean; optional?: boolean }>
}

/** npm writes down what it has installed in the format of the lock file. */
function expectLockedPackages(): void {
  const locked = (JSON.parse(fileOf('package-lock.json')) as LockFile).packages
  const installed = (JSON.parse(fileOf('node_modules/.package-lock.json')) as LockFile).packages
  const wrong = Object.entries(locked).filter(([path, { version, optional }]) => {
    const found = installed[path]?.version
    return path !== '' && found !== version && !(optional && found === undefined)
  })
  assert.deepEqual(wrong, [], 'node_modules is not what package-lock.json says: run npm ci')
}

const PORTS = { PARLEY_PORT: '0', PARLEY_CONSOLE_PORT: '0', PARLEY_OPS_PORT: '0' }
const SECRET = randomBytes(32).toString('base64')
const CONSOLE_URL = interpolate(services.parley?.environment?.PARLEY_CONSOLE_URL ?? '', {})

/** The environment that compose gives to a service, with its hosts and ports moved to this machine. */
function environmentOf(service: string, change: Record<string, string>): RunOptions {
  const given = Object.entries(services[service]?.environment ?? {}).map(([name, value]) => {
    return [name, interpolate(value, { PARLEY_SECRET: SECRET })]
  })
  const { PARLEY_ENCODER_DIR = '', ...ofImage } = variablesOf(only('ENV'))
  const moved = { ...ofImage, PARLEY_ENCODER_DIR: within(PARLEY_ENCODER_DIR) }
  const env = { ...moved, ...(Object.fromEntries(given) as Record<string, string>), ...change }
  return { env: { ...env, HOME: '/' }, cwd: within('.'), ...(uid !== undefined && { uid }) }
}

function launch(service: string, options: RunOptions, change: (argument: string) => string = (same) => same): Started {
  const entrypoint = services[service]?.entrypoint ?? listOf('ENTRYPOINT')
  const command = services[service]?.command ?? listOf('CMD')
  const [program = '', ...rest] = [...entrypoint, ...command].map(change)
  return start(program.startsWith('/') ? within(program) : program, rest, options)
}

test('the image holds the pinned Node, runs without rights, and takes no secret and no test with it', () => {
  for (const { base } of stages) assert.equal(base.split('-')[0], `node:${fileOf('.nvmrc').trim()}`)
  assert.notEqual(only('USER'), 'root')
  const isIgnored = ignoredBy(fileOf('.dockerignore'))
  const local = ['.env', '.git/config', '.parley/secret', 'node_modules/pg/x.js', 'dashboard/dist/index.html']
  for (const path of [...local, 'src/rules/money.test.ts', 'dashboard/src/formats.test.ts']) {
    assert.ok(isIgnored(path), `${path} would be sent to the builder`)
  }
  assert.ok(!isIgnored('src/rules/money.ts') && !isIgnored('scripts/seed.ts') && isIgnored('scripts/dev.ts'))
})

test('the image has every migration and every function of the database', () => {
  for (const name of ['migrations', 'functions']) {
    assert.deepEqual(readdirSync(within(name)), readdirSync(join(ROOT, name)), name)
  }
})

test('what only builds or tests is not in the image: no such package, no source of the web app', () => {
  const { packages } = JSON.parse(fileOf('package-lock.json')) as LockFile
  const ours = Object.keys(packages).filter((path) => packages[path]?.dev || packages[path]?.devOptional)
  for (const name of ['vite', 'react', 'typescript']) assert.ok(ours.includes(`node_modules/${name}`), name)
  assert.deepEqual(
    ours.filter((path) => existsSync(within(path))),
    [],
  )
  assert.deepEqual(readdirSync(within('dashboard')), ['dist'])
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
  const given = Object.entries(environment).map(([name, value]) => [
    name,
    interpolate(value, { PARLEY_SECRET: SECRET, PARLEY_SMTP_URL: 'smtp://mail.example.com' }),
  ])
  const config = readConfig(Object.fromEntries(given) as Record<string, string>)
  assert.deepEqual(
    [config.PARLEY_CONSOLE_URL, config.PARLEY_PUBLIC_URL, config.PARLEY_SMTP_URL, config.PARLEY_TRIAL_CREDIT],
    ['http://127.0.0.1:8081', 'http://127.0.0.1:8080', 'smtp://mail.example.com', 0n],
  )
  const graceMs = Number(/^(\d+)s$/.exec(stop_grace_period ?? '')?.[1]) * 1_000
  assert.ok(graceMs > config.PARLEY_DRAIN_DELAY_MS + config.PARLEY_DRAIN_GRACE_MS + 15_000)
})

test('compose makes a login for each plane, and gives each service those that it needs and no other', () => {
  const isLogin = (name: string) => name.endsWith('DATABASE_URL')
  const of = (service: string) => Object.entries(services[service]?.environment ?? {}).filter(([name]) => isLogin(name))
  const made = new Map(of('database'))
  assert.deepEqual([...made.keys()], ['DATABASE_URL', ...Object.values(LOGIN_VARIABLES)])
  for (const [name, url] of [...of('parley'), ...of('matcher')]) assert.equal(url, made.get(name), name)
  const { gateway, console: ofConsole, worker, matcher, tenant } = LOGIN_VARIABLES
  assert.deepEqual(
    of('parley').map(([name]) => name),
    ['DATABASE_URL', gateway, ofConsole, worker, tenant],
  )
  assert.deepEqual(
    of('matcher').map(([name]) => name),
    [matcher],
  )
})

test('with compose.yaml the image serves the console, answers a request of the demo, and ends in order', async () => {
  const DATABASE_URL = database.url
  const prepared = launch('database', environmentOf('database', databaseEnv(database.url)))
  assert.equal(await prepared.end(undefined, 30_000), 0, prepared.output)
  const served = launch('parley', environmentOf('parley', { ...databaseEnv(database.url), ...PORTS }))
  const simulator = launch('simulator', environmentOf('simulator', {}), (argument) =>
    argument === '9100' ? '0' : argument,
  )
  try {
    const lines = await served.untilPrinted(/"msg":"listening"/, 60_000)
    const [, port = ''] = /"url":"http:\/\/0\.0\.0\.0:(\d+)"/.exec(lines) ?? []
    const [, consolePort = ''] = /"consoleUrl":"http:\/\/0\.0\.0\.0:(\d+)"/.exec(lines) ?? []
    const [, opsPort = ''] = /"opsUrl":"http:\/\/0\.0\.0\.0:(\d+)"/.exec(lines) ?? []
    await untilReady(`http://127.0.0.1:${opsPort}`)
    assert.doesNotMatch(served.output, /could do anything to the database/)
    assert.equal(await healthOf(opsPort), 0)
    assert.equal(await healthOf('1'), 1)
    await expectWebApp(`http://127.0.0.1:${consolePort}`)
    await letInWhoSignsUp(`http://127.0.0.1:${consolePort}`)

    const [, upstreamPort = ''] =
      /listening on \S+:(\d+)/.exec(await simulator.untilPrinted(/listening on/, 10_000)) ?? []
    const seed = launch('seed', environmentOf('seed', { DATABASE_URL, PARLEY_PORT: port }), (argument) =>
      argument.replace('//simulator:9100/', `//127.0.0.1:${upstreamPort}/`),
    )
    assert.equal(await seed.end(undefined, 20_000), 0, seed.output)
    assert.ok(seed.output.includes(CONSOLE_URL), seed.output)
    const curl = seed.output.slice(seed.output.indexOf('curl '))
    const answer = await untilAnswered(curl)
    assert.equal(answer.object, 'chat.completion', JSON.stringify(answer))

    assert.equal(await served.end('SIGTERM', 20_000), 0, served.output)
  } finally {
    await served.end('SIGKILL', 0)
    await simulator.end('SIGTERM', 5_000)
  }
})

test('the matcher of the image has its engine and its encoder, and builds its index without rights', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'parley-image-matcher-'))
  await chmod(directory, 0o777)
  const ports = { ...PORTS, PARLEY_MATCHER_PORT: '0', PARLEY_MATCHER_DIR: directory }
  const PARLEY_MATCHER_DATABASE_URL = loginUrl(database.url, 'matcher')
  const matcher = launch('matcher', environmentOf('matcher', { PARLEY_MATCHER_DATABASE_URL, ...ports }))
  try {
    const lines = await matcher.untilPrinted(/"msg":"built the index"|switched off/, 60_000)
    assert.doesNotMatch(lines, /switched off/)
    assert.doesNotMatch(lines, /the encoder is not prepared/)
    assert.equal(await matcher.end('SIGTERM', 20_000), 0, matcher.output)
  } finally {
    await matcher.end('SIGKILL', 0)
    await rm(directory, { recursive: true, force: true })
  }
})

/** A page of the app with its policy, and a script of it as the build has compressed it. */
async function expectWebApp(consoleUrl: string): Promise<void> {
  const page = await fetch(`${consoleUrl}/sign-in`, { headers: { accept: 'text/html' } })
  const [, script = ''] = /<script type="module"[^>]* src="(\/assets\/[^"]+\.js)"/.exec(await page.text()) ?? []
  assert.equal(page.status, 200)
  assert.match(page.headers.get('content-security-policy') ?? '', /^default-src 'none'; script-src 'self';/)
  const asset = await fetch(`${consoleUrl}${script}`, { headers: { 'accept-encoding': 'br' } })
  const { status, headers } = asset
  assert.deepEqual(
    [status, headers.get('content-encoding'), headers.get('cache-control')],
    [200, 'br', 'public, max-age=31536000, immutable'],
  )
  assert.equal(await asset.text(), readFileSync(within(`dashboard/dist${script}`), 'utf8'))
}

/** Without mail, as compose.yaml explains it. */
async function letInWhoSignsUp(consoleUrl: string): Promise<void> {
  const signedUp = await fetch(`${consoleUrl}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: CONSOLE_URL },
    body: JSON.stringify({ name: 'Editor', email: 'editor@example.com', password: 'a long and quiet river' }),
  })
  assert.equal(signedUp.status, 200, await signedUp.text())
  const options = environmentOf('parley', { DATABASE_URL: database.url })
  const { stdout } = await run(within('bin/parley'), ['publisher', 'list', '--json'], options)
  const [publisher] = JSON.parse(stdout) as { id: string }[]
  const { code, stderr } = await run(within('bin/parley'), ['publisher', 'activate', String(publisher?.id)], options)
  assert.equal(code, 0, stderr)
}

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
