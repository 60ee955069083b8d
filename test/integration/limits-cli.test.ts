import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { asked, refused, told } from '../support/operator.ts'
import { addProject, chatBody, complete, createWorld, until, type TestProject, type World } from '../support/world.ts'

/** Limits and end users as operators see and set them. */

let world: World
let project: TestProject
before(async () => {
  world = await createWorld()
  Object.assign(process.env, {
    DATABASE_URL: String(world.env.DATABASE_URL),
    PARLEY_SECRET: String(world.env.PARLEY_SECRET),
  })
  project = await addProject(world.store, world.secrets)
})
after(() => world.close())

const keyOf = ({ publishableKey }: TestProject) => publishableKey

async function call(endUser?: string): Promise<number> {
  const headers: Record<string, string> = endUser === undefined ? {} : { 'x-end-user-id': endUser }
  return (await complete(world, chatBody('tokens=3', { max_tokens: 5 }), { project, headers })).status
}

test('what is set holds at once, what is not said stays, and none takes a limit away', async () => {
  const key = ['--key', keyOf(project)]
  assert.match(await told('limits', 'show', ...key), /^There are no limits\. Set some with: parley limits set/)
  const shown = await told('limits', 'set', ...key, '--month', '5', '--requests-per-minute', '1000')
  assert.match(shown, /^requests per minute +publisher +1000 +0 +1000 +\d{4}-/m)
  assert.match(shown, /^budget \(month\) +publisher +\$5\.00 +\$0\.00 +\$5\.00 +\d{4}-\d\d-01T00:00:00Z$/m)
  assert.equal(await call(), 200)
  await told('limits', 'set', ...key, '--month', '0')
  assert.equal(await call(), 403)
  const left = await asked('limits', 'set', ...key, '--month', 'none')
  assert.partialDeepStrictEqual(left, { scope: 'key_pair', limits: { month_nanos: null, requests_per_minute: 1000 } })
  assert.equal(await call(), 200)
})

test('an account, a project and every end user have limits of their own, beside what the operator allows', async () => {
  const { publisher_id: publisher } = (await asked('project', 'show', project.id)) as { publisher_id: string }
  assert.match(await told('limits', 'set', '--publisher', publisher, '--total', '100'), /^budget \(total\) .* -$/m)
  await told('project', 'set', project.id, '--concurrent-calls', '9')
  const ofProject = await told('limits', 'set', '--project', project.id, '--concurrent-calls', '90', '--week', '3')
  assert.match(ofProject, /^concurrent calls +operator +9 +0 +9 +-$/m)
  assert.match(ofProject, /^concurrent calls +publisher +90 +0 +90 +-$/m)
  await told('project', 'set', project.id, '--concurrent-calls', 'none')
  const everyone = await told('limits', 'set', '--end-users', project.id, '--day', '0.5')
  assert.match(everyone, /^budget \(day\) +publisher +\$0\.50 +- +- +\d{4}-/m)
})

test('end users are listed, limited one by one, and erased', async () => {
  assert.match(await told('end-user', 'list', project.id), /^There are none yet/)
  assert.equal(await call('customer-17'), 200)
  const list = () => asked('end-user', 'list', project.id) as Promise<{ id: string }[]>
  await until(async () => (await list()).length === 1)
  const [user] = await list()
  const id = String(user?.id)
  const one = ['--project', project.id, '--end-user', id]
  assert.match(
    await told('limits', 'set', ...one, '--day', '0'),
    /^budget \(day\) +publisher +\$0\.00 +\$0\.000\d+ +\$0\.00 /m,
  )
  assert.equal(await call('customer-17'), 403)
  assert.match(await told('end-user', 'erase', project.id, id), /is erased/)
  assert.equal(await call('customer-17'), 200)
})

test('what names nobody, or more than one, is told so', async () => {
  const whose = /^Choose one of --publisher/
  assert.match(await refused('limits', 'show'), whose)
  assert.match(await refused('limits', 'show', '--project', project.id, '--end-users', project.id), whose)
  assert.match(await refused('limits', 'show', '--end-user', uuidv7()), whose)
  assert.match(await refused('limits', 'set', '--project', project.id), /^Nothing to change/)
  assert.match(await refused('limits', 'show', '--key', 'ply_pk_00none'), /^There is no key pair ply_pk_00none\./)
  assert.match(
    await refused('limits', 'set', '--project', project.id, '--end-user', uuidv7(), '--day', '1'),
    /^There is no end user .* parley end-user list PROJECT/,
  )
  assert.match(await refused('limits', 'set', '--publisher', uuidv7(), '--day', '1'), /^There is no publisher /)
  assert.match(await refused('end-user', 'erase', project.id, uuidv7()), /^There is no end user /)
  assert.match(await refused('end-user', 'erase', project.id, 'grace'), /is not the id of an end user/)
})
