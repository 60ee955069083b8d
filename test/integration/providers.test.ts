import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile, rm, mkdtemp } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { PRESETS } from '../../src/providers/presets.ts'
import { UPSTREAM_TIMERS } from '../../src/rules/limits.ts'
import { loadCatalogue } from '../../src/store/catalogue/catalogue.ts'
import { noteKeyRefusal } from '../../src/store/catalogue/providers.ts'
import { asked, here, refused, told } from '../support/operator.ts'
import { addModel, addProviderKey, chatBody, complete, createWorld, until, type World } from '../support/world.ts'

let world: World
let dir: string

before(async () => {
  world = await createWorld()
  dir = await mkdtemp(join(tmpdir(), 'parley-providers-'))
  const { DATABASE_URL = '', PARLEY_SECRET = '' } = world.env
  Object.assign(process.env, { DATABASE_URL, PARLEY_SECRET, FIRST_KEY: 'sk-first-1111', SECOND_KEY: 'sk-second-2222' })
})
after(async () => {
  await world.close()
  await rm(dir, { recursive: true })
})

describe('a provider is added from each preset, with settings that its kind accepts', () => {
  for (const { name, baseUrl, key, kind, settings } of PRESETS) {
    test(name, async () => {
      const where = baseUrl === undefined ? ['--base-url', 'https://bedrock-runtime.eu-west-1.amazonaws.com/v1'] : []
      const what = key === 'none' ? [] : ['--api-key-env', 'FIRST_KEY']
      const added = await asked('provider', 'add', name, ...where, ...what)
      const keys = key === 'none' ? [] : [{ name: 'default', last4: '1111' }]
      assert.partialDeepStrictEqual(added, { name, kind, settings, keys })
      assert.equal((added as { base_url: string }).base_url, baseUrl ?? where[1])
    })
  }
})

test('presets are listed, a name other than the preset’s can be given, and what is missing is named', async () => {
  assert.match(await told('provider', 'presets'), /^groq +openai-compatible +https:\S+ +needed +/m)
  const named = await asked('provider', 'add', 'groq-2', '--preset', 'groq', '--api-key-env', 'FIRST_KEY')
  assert.partialDeepStrictEqual(named, { name: 'groq-2', base_url: 'https://api.groq.com/openai/v1' })
  const own = ['--preset', 'openrouter', '--settings', '{"headers":{"http-referer":"https://example.org"}}']
  assert.partialDeepStrictEqual(await asked('provider', 'add', 'router-2', ...own, '--api-key-env', 'FIRST_KEY'), {
    settings: { headers: { 'http-referer': 'https://example.org' }, keyRejectedBy: [401, 402] },
  })
  assert.match(await refused('provider', 'add', 'new', '--no-api-key'), /--base-url.*--preset.*parley provider presets/)
  assert.match(await refused('provider', 'add', 'azure-2', '--preset', 'azure'), /--base-url.*your resource/)
  assert.match(await refused('provider', 'add', 'x', '--preset', 'y'), /no preset y.*parley provider presets/)
  assert.match(await refused('provider', 'add', 'x', '--preset', 'groq', '--kind', 'gemini'), /of the kind openai-comp/)
})

test('settings that the kind does not take are refused before they are stored', async () => {
  const base = ['provider', 'add', 'wrong', '--base-url', 'http://127.0.0.1:9/v1', '--no-api-key']
  assert.match(await refused(...base, '--settings', '{"pth":"/x"}'), /not valid for the kind openai-.*pth.*--settings/)
  assert.match(await refused(...base, '--settings', 'path=/x'), /not a JSON object/)
  assert.match(await refused(...base, '--settings-file', join(dir, 'none')), /cannot be read.*--settings-file/)
  assert.match(await refused('provider', 'set', 'groq', '--settings', '{"path":"x"}'), /path/)
  const before = await asked('provider', 'list')
  assert.ok(!JSON.stringify(before).includes('wrong'))
  await writeFile(join(dir, 'settings.json'), '{"askForUsage":false}')
  const changed = await asked('provider', 'set', 'groq', '--settings-file', join(dir, 'settings.json'))
  assert.deepEqual((changed as { settings: unknown }).settings, { askForUsage: false })
  const bedrock = ['provider', 'add', 'cloud', '--kind', 'bedrock', '--base-url', 'https://example.org', '--no-api-key']
  assert.match(await refused(...bedrock), /region/)
})

/** An upstream that Parley has no code for: another path, another header for the key, other fields. */
async function createStranger(keys: ReadonlySet<string>) {
  const seen: { url: string | undefined; key: unknown; body: Record<string, unknown> }[] = []
  const server = createServer((request: IncomingMessage, response) => {
    void (async () => {
      let text = ''
      for await (const piece of request.setEncoding('utf8')) text += String(piece)
      const key = String(request.headers['x-stranger-key'])
      seen.push({ url: request.url, key, body: JSON.parse(text) as Record<string, unknown> })
      if (!keys.has(key)) return response.writeHead(401).end()
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const choice = { index: 0, delta: { content: 'Hello.' }, finish_reason: 'stop' }
      const usage = { prompt_tokens: 5, completion_tokens: 2, prompt_cache_hit_tokens: 3 }
      return response.end(`data: ${JSON.stringify({ choices: [choice], usage })}\n\ndata: [DONE]\n\n`)
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { seen, url: `http://127.0.0.1:${port}`, close: () => server.close() }
}

test('a new OpenAI-compatible provider is data alone: nothing but commands makes it answer and be charged', async (t) => {
  const stranger = await createStranger(new Set(['sk-first-1111']))
  t.after(() => stranger.close())
  const settings = {
    auth: { header: 'x-stranger-key' },
    path: '/v9/talk',
    query: { edition: '3' },
    maxTokensField: 'max_completion_tokens',
    askForUsage: false,
  }
  const said = ['--base-url', stranger.url, '--settings', JSON.stringify(settings), '--api-key-env', 'FIRST_KEY']
  await told('provider', 'add', 'stranger', ...said)
  await told('model', 'add', 'strange', '--owned-by', 'them', '--input', '1', '--cached-input', '0.5', '--output', '4')
  await told('model', 'route', 'strange', '--provider', 'stranger', '--upstream-model', 'stranger-1')
  await until(async () => {
    const response = await complete(world, chatBody('', { model: 'strange', max_tokens: 50 }))
    await response.arrayBuffer()
    return response.status === 200
  })
  const { url, key, body } = stranger.seen.at(-1) ?? assert.fail()
  assert.deepEqual([url, key], ['/v9/talk?edition=3', 'sk-first-1111'])
  assert.partialDeepStrictEqual(body, { model: 'stranger-1', max_completion_tokens: 50, stream: true })
  assert.ok(!('max_tokens' in body) && !('stream_options' in body))
  const { db } = world.store
  const charge = await db
    .selectFrom('charges')
    .select(['input_tokens', 'cached_input_tokens', 'output_tokens', 'charged_nanos'])
    .orderBy('settled_at', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  assert.deepEqual(charge, {
    input_tokens: 2,
    cached_input_tokens: 3,
    output_tokens: 2,
    charged_nanos: 2n * 1_000n + 3n * 500n + 2n * 4_000n,
  })
})

test('keys are added, replaced, disabled and removed while a gateway runs, and it follows within two seconds', async (t) => {
  const accepted = new Set(['sk-first-1111'])
  const stranger = await createStranger(accepted)
  t.after(() => stranger.close())
  const settings = ['--settings', JSON.stringify({ auth: { header: 'x-stranger-key' } })]
  await told('provider', 'add', 'rotated', '--base-url', stranger.url, ...settings, '--api-key-env', 'FIRST_KEY')
  await addModel(world.store, { id: 'rotated', provider: 'rotated' })
  const answersWith = (key: string) =>
    until(async () => {
      const response = await complete(world, chatBody('', { model: 'rotated' }))
      await response.arrayBuffer()
      return response.status === 200 && stranger.seen.at(-1)?.key === key
    }, 2_000)
  await answersWith('sk-first-1111')

  accepted.add('sk-second-2222')
  const added = await asked('provider', 'key', 'add', 'rotated', 'second', '--api-key-env', 'SECOND_KEY')
  assert.partialDeepStrictEqual(added, [{ name: 'default' }, { name: 'second', last4: '2222', enabled: true }])
  assert.ok(!JSON.stringify(added).includes('sk-second'), 'a key is never shown')
  await told('provider', 'key', 'disable', 'rotated', 'default')
  await answersWith('sk-second-2222')
  await told('provider', 'key', 'enable', 'rotated', 'default')
  await told('provider', 'key', 'remove', 'rotated', 'second')
  await answersWith('sk-first-1111')

  accepted.clear()
  accepted.add('sk-second-2222')
  await told('provider', 'key', 'add', 'rotated', 'default', '--api-key-env', 'SECOND_KEY')
  await answersWith('sk-second-2222')
  assert.match(await refused('provider', 'key', 'remove', 'rotated', 'nobody'), /no key nobody.*key list rotated/)
  assert.match(await refused('provider', 'key', 'disable', 'nobody', 'x'), /no provider nobody/)
})

test('a provider whose keys are all disabled is not called without one', async () => {
  await told('provider', 'add', 'silent', '--base-url', `${world.simulator.url}/v1`, '--api-key-env', 'FIRST_KEY')
  await addModel(world.store, { id: 'silent', provider: 'silent' })
  const listed = async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    return (await response.text()).includes('"silent"')
  }
  await until(listed)
  await told('provider', 'key', 'disable', 'silent', 'default')
  await until(async () => !(await listed()))
  assert.match(await told('provider', 'list'), /^silent .* default …1111 \(disabled\) /m)
  const { stdout } = await here(['doctor', '--offline'])
  assert.match(stdout, /^problem +provider silent +every key is disabled\. .*parley provider key enable silent/m)
  await told('provider', 'disable', 'silent')
})

test('each timer of a deployment is the one that was set for it, and the usual one where none was', async () => {
  const timers = { connectTimeoutMs: 1_001, firstTokenTimeoutMs: 1_002, idleTimeoutMs: 1_003, totalTimeoutMs: 1_004 }
  await addModel(world.store, { id: 'timed', provider: 'simulator', deployment: timers })
  await addModel(world.store, { id: 'untimed', provider: 'simulator' })
  const { models } = await loadCatalogue(world.store.db)
  const set = { connectMs: 1_001, firstTokenMs: 1_002, idleMs: 1_003, totalMs: 1_004 }
  assert.deepEqual(models.get('timed')?.deployments[0]?.timers, set)
  assert.deepEqual(models.get('untimed')?.deployments[0]?.timers, UPSTREAM_TIMERS)
})

test('a refused key is shown with when and why, is a problem to the doctor, and is forgotten with the key', async () => {
  const { db } = world.store
  await told('provider', 'add', 'tired', '--base-url', `${world.simulator.url}/v1`, '--api-key-env', 'FIRST_KEY')
  const key = await db
    .selectFrom('provider_keys as k')
    .innerJoin('providers as p', 'p.id', 'k.provider_id')
    .select('k.id')
    .where('p.name', '=', 'tired')
    .executeTakeFirstOrThrow()
  await noteKeyRefusal(db, key.id, { status: 401 })
  await db
    .updateTable('provider_keys')
    .set({ rejected_at: new Date(Date.now() - 5 * 60_000) })
    .where('id', '=', key.id)
    .execute()
  assert.match(
    await told('provider', 'key', 'list', 'tired'),
    /^default +1111 +in use, refused with 401, 5 minutes ago$/m,
  )
  assert.match(await told('provider', 'list'), /default …1111 \(refused with 401, 5 minutes ago\)/)
  const { code, stdout } = await here(['doctor', '--offline'])
  assert.equal(code, 1)
  assert.match(stdout, /^problem +key tired\/default +refused with 401, .*parley provider key add tired default$/m)
  await told('provider', 'key', 'add', 'tired', 'default', '--api-key-env', 'SECOND_KEY')
  assert.match(await told('provider', 'key', 'list', 'tired'), /^default +2222 +in use$/m)
})

test('a provider is tested with each key, phase by phase, and a failing phase says what to do', async () => {
  const url = `${world.simulator.url}/v1`
  await told(
    'provider',
    'add',
    'tested',
    '--base-url',
    url.replace('127.0.0.1', 'localhost'),
    '--api-key-env',
    'FIRST_KEY',
  )
  const { id } = await world.store.db
    .selectFrom('providers')
    .select('id')
    .where('name', '=', 'tested')
    .executeTakeFirstOrThrow()
  await addProviderKey(world.store, world.secrets, id, 'bad-key', 'broken')
  const { code, stdout } = await here(['provider', 'test', 'tested', '--upstream-model', 'sim'])
  assert.equal(code, 1)
  assert.match(stdout, /^tested answers, with key default …1111\.$/m)
  for (const phase of ['dns', 'connect', 'first byte', 'first token', 'total']) {
    assert.match(stdout, new RegExp(`^${phase} +\\d+ ms$`, 'm'))
  }
  assert.match(stdout, /^tokens +\d+ in, \d+ out$/m)
  assert.match(stdout, /does not answer, with key broken …-key\. .*refuses the API key \(401\)\. Set another one\./)
  assert.match(stdout, /^first byte +failed$/m)
  const one = await asked('provider', 'test', 'tested', '--upstream-model', 'sim', '--key', 'default')
  assert.partialDeepStrictEqual(one, { answers: true, keys: [{ name: 'default', last4: '1111', failure: null }] })
  assert.match(await refused('provider', 'test', 'tested', '--upstream-model', 'x', '--key', 'y'), /no key y/)

  await told('provider', 'set', 'tested', '--base-url', 'https://127.0.0.1:9/v1')
  const nobody = await here(['provider', 'test', 'tested', '--upstream-model', 'sim', '--key', 'default'])
  assert.match(nobody.stdout, /Nothing listens at that address\. Check its base URL[^]*^connect +failed$/m)
  await told('provider', 'set', 'tested', '--base-url', url.replace('http:', 'https:'))
  const plain = await here(['provider', 'test', 'tested', '--upstream-model', 'sim', '--key', 'default'])
  assert.match(plain.stdout, /TLS failed\. Check whether its base URL should begin[^]*^connect +\d+ ms\ntls +failed$/m)
})
