import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { after, before, test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { exampleEnv, exampleFile, startExample } from '../support/example.ts'
import { createWorld, until, walletOf, type World } from '../support/world.ts'

const run = promisify(execFile)

let world: World
let env: Record<string, string>
before(async () => {
  world = await createWorld()
  env = exampleEnv(world)
})
after(() => world.close())

async function start(t: TestContext, path: string): Promise<string> {
  const { url, stop } = await startExample(world, path)
  t.after(stop)
  return url
}

test('node: a question at the command line is answered, and a wrong key says what is wrong', async () => {
  const { stdout } = await run(process.execPath, [exampleFile('node/chat.mjs'), 'Hello [[sim tokens=7]]'], { env })
  assert.ok(stdout.trim().split(/\s+/).length > 3, stdout)
  const wrong = { ...env, PARLEY_SECRET_KEY: 'ply_sk_wrong' }
  await assert.rejects(
    run(process.execPath, [exampleFile('node/chat.mjs')], { env: wrong }),
    /401 The key pair is not valid/,
  )
})

test('express: an answer is streamed, and a reader that leaves ends the call', async (t) => {
  const url = await start(t, 'express/server.mjs')
  const ask = (message: string, signal?: AbortSignal) =>
    fetch(`${url}/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ message }),
      ...(signal && { signal }),
    })
  const answer = await ask('Hello [[sim tokens=9 gap=20]]')
  assert.equal(answer.status, 200)
  let pieces = 0
  assert.ok(answer.body)
  for await (const piece of answer.body) pieces += piece.length > 0 ? 1 : 0
  assert.ok(pieces > 2, `${pieces} pieces`)

  const abort = new AbortController()
  const left = await ask('Hello [[sim tokens=1000 gap=20]]', abort.signal)
  assert.ok(left.body)
  await left.body.getReader().read()
  abort.abort()
  await until(async () => (await walletOf(world.store, world.project.id)).openHolds === 0, 10_000)
})

test('nextjs: its route answers what the page sends, at the AI SDK’s defaults', async () => {
  Object.assign(process.env, env)
  const { POST } = await import('../../examples/nextjs/app/api/chat/route.ts')
  const messages = [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'Hello [[sim tokens=7]]' }] }]
  const request = new Request('http://app.test/api/chat', {
    method: 'POST',
    body: JSON.stringify({ id: 'talk-1', messages }),
  })
  const text = await (await POST(request)).text()
  assert.match(text, /"type":"text-delta"/)
  assert.doesNotMatch(text, /"type":"error"/)
})

test('nextjs: its page and layout compile', async () => {
  await run(process.execPath, [
    new URL('../../node_modules/typescript/bin/tsc', import.meta.url).pathname,
    '-p',
    exampleFile(''),
  ])
})

test('python: it compiles', async () => {
  await run('python3', ['-c', 'import ast, sys; ast.parse(open(sys.argv[1]).read())', exampleFile('python/chat.py')])
})

test('browser-chat: its server fits on a screen, and gives a session that names the gateway and no long-lived secret', async (t) => {
  const url = await start(t, 'browser-chat/server.mjs')
  const response = await fetch(`${url}/session`, { method: 'POST' })
  const text = await response.text()
  assert.equal(response.status, 200)
  assert.match(text, /"secretKey":"ply_es_/)
  assert.ok(!text.includes(world.project.secretKey))
  assert.match(await (await fetch(url)).text(), /<title>Chat<\/title>/)
  const source = await readFile(exampleFile('browser-chat/server.mjs'), 'utf8')
  assert.ok(source.trimEnd().split('\n').length <= 35)
})
