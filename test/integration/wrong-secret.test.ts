import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { createLog } from '../../src/platform/log.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { ROLES, serve } from '../../src/serve.ts'
import { recordSecrets } from '../../src/store/secret-versions.ts'
import { parley, ROOT, start } from '../support/commands.ts'
import { databaseEnv } from '../support/logins.ts'
import { here } from '../support/operator.ts'
import { createRelay } from '../support/relay.ts'
import { addModel, addProvider, chatBody, complete, createWorld, until, type World } from '../support/world.ts'

let world: World
const wrong = randomBytes(32).toString('base64')
const WRONG =
  /^Secret 1 in PARLEY_SECRET is not the secret 1 that this installation works with\. Give this process the same as the others; .*is lost, see/m

before(async () => {
  world = await createWorld()
})
after(() => world.close())

const envWith = (secret: string) => ({ ...world.env, PARLEY_SECRET: secret })

test('a process with a wrong secret does not start, whichever role it has, and says which one is wrong', async () => {
  const log = createLog('silent')
  const ports = { PARLEY_CONSOLE_PORT: '0', PARLEY_MATCHER_PORT: '0' }
  for (const role of ROLES)
    await assert.rejects(serve(readConfig({ ...envWith(wrong), ...ports }), [role], log), { message: WRONG }, role)
  const both = `2:${randomBytes(32).toString('base64')},1:${wrong}`
  await assert.rejects(serve(readConfig({ ...envWith(both), ...ports }), ['gateway'], log), { message: WRONG })
  const recorded = await world.store.db.selectFrom('secret_versions').select('version').execute()
  assert.deepEqual(recorded, [{ version: 1 }], 'nothing of it is recorded')

  const { code, stdout, stderr } = await parley(['serve', 'gateway'], { env: envWith(wrong) })
  assert.deepEqual([code, stdout.includes('listening')], [1, false])
  assert.match(stderr, WRONG)
  assert.ok(!`${stdout}${stderr}`.includes(wrong))
})

test('a process that lists none of the secrets that the installation works with does not start either', async () => {
  const { code, stderr } = await parley(['serve', 'gateway'], { env: envWith(`2:${wrong}`) })
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^PARLEY_SECRET lists only secret 2, and this installation works with 1\. List one of those, too\. /m,
  )
})

test('commands that use the secret refuse a wrong one and change nothing, the others do their work, and the doctor tells', async () => {
  const env = { ...envWith(wrong), NEW_KEY: 'sk-new-4444' }
  const { db } = world.store
  const kept = await db.selectFrom('provider_keys').selectAll().execute()
  for (const command of [
    `key create ${world.project.id}`,
    'secrets rewrap',
    'provider key add simulator second --api-key-env NEW_KEY',
    'provider set simulator --api-key-env NEW_KEY',
    'provider add other --base-url http://127.0.0.1:9/v1 --api-key-env NEW_KEY',
    'provider test simulator',
  ]) {
    const { code, stderr } = await here(command.split(' '), { env })
    assert.equal(code, 1, command)
    assert.match(stderr, WRONG, command)
  }
  assert.deepEqual(await db.selectFrom('provider_keys').selectAll().execute(), kept)
  assert.equal((await here(['publisher', 'list'], { env })).code, 0)
  const doctor = await here(['doctor', '--offline'], { env })
  assert.equal(doctor.code, 1)
  assert.match(doctor.stdout, /^problem +secrets +Secret 1 in PARLEY_SECRET is not the secret 1/m)
  assert.match(
    (await here(['doctor', '--offline'], { env: world.env })).stdout,
    /^ok +secrets +those of this installation/m,
  )
})

test('a process that starts while the store is away ends as soon as it can tell that its secret is wrong', async () => {
  const database = new URL(String(world.env.DATABASE_URL))
  const relay = await createRelay({ host: database.hostname, port: Number(database.port || 5432) })
  after(() => relay.close())
  relay.cut()
  database.hostname = '127.0.0.1'
  database.port = String(relay.port)
  const env = { ...envWith(wrong), ...databaseEnv(database.href) }
  const served = start(join(ROOT, 'bin/parley'), ['serve', 'gateway'], { env })
  await served.untilPrinted(/"msg":"listening"/, 15_000)
  relay.mend()
  assert.equal(await served.end(undefined, 15_000), 1, served.output)
  assert.match(served.output, /"level":"fatal".*"problem":"Secret 1 in PARLEY_SECRET is not the secret 1/)
})

test('secrets that two processes record at the same moment have the same digest keys', async () => {
  const { db } = world.store
  const kept = await db.selectFrom('secret_versions').selectAll().execute()
  const roots = [1, 2].map((version) => ({ version, bytes: randomBytes(32) }))
  for (let n = 0; n < 10; n += 1) {
    await db.deleteFrom('secret_versions').execute()
    const both = [createSecrets(roots), createSecrets(roots.toReversed())]
    const [one, other] = await Promise.all(both.map((secrets) => recordSecrets(db, secrets)))
    assert.deepEqual(one, other)
  }
  await db.deleteFrom('secret_versions').execute()
  await db.insertInto('secret_versions').values(kept).execute()
})

test('a gateway that cannot open the key of a model’s only provider is not ready and says why, until it can', async () => {
  const elsewhere = createSecrets([{ version: 7, bytes: randomBytes(32) }])
  await addProvider(world.store, elsewhere, 'elsewhere', `${world.simulator.url}/v1`)
  await addModel(world.store, { id: 'sealed', provider: 'elsewhere' })
  const readiness = async () => {
    const response = await fetch(`${world.opsUrl}/readyz`)
    return { code: response.status, ...((await response.json()) as { missing: string[] }) }
  }
  await until(async () => (await readiness()).code === 503)
  assert.deepEqual((await readiness()).missing, ['Secret 7 is missing: keys of providers cannot be opened.'])
  const refused = await complete(world, { ...chatBody('tokens=2'), model: 'sealed' })
  assert.equal(refused.status, 503)
  await until(() => world.logs.some((line) => line.includes('"status":503') && line.includes('"secretVersion":7')))
  assert.equal((await complete(world, chatBody('tokens=2'))).status, 200, 'other models are answered')
  await here(['provider', 'set', 'elsewhere', '--api-key-env', 'NEW_KEY'], {
    env: { ...world.env, NEW_KEY: 'sk-5555' },
  })
  await until(async () => (await readiness()).code === 200)
  assert.equal((await complete(world, { ...chatBody('tokens=2'), model: 'sealed' })).status, 200)
})
