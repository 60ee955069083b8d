import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { chromium, type Browser, type Page } from 'playwright-core'
import { createAuthority } from '../support/certificates.ts'
import { startExample } from '../support/example.ts'
import { createWorld, walletOf, type World } from '../support/world.ts'

/** The example of a page that talks to the gateway itself, under the verified domain and under somebody else's. */

const OURS = 'app.example.com'
const ANOTHERS = 'copycat.test'

let world: World
let example: Awaited<ReturnType<typeof startExample>>
let proxy: Server
let browser: Browser

before(async () => {
  world = await createWorld()
  example = await startExample(world, 'browser-chat/server.mjs')
  proxy = await startProxy(example.url)
  const { port } = proxy.address() as AddressInfo
  browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--ignore-certificate-errors',
      `--host-resolver-rules=MAP ${OURS} 127.0.0.1:${port}, MAP ${ANOTHERS} 127.0.0.1:${port}`,
    ],
  })
})
after(async () => {
  await browser.close()
  proxy.closeAllConnections()
  proxy.close()
  await example.stop()
  await world.close()
})

/** Only https origins may use a session. */
async function startProxy(target: string): Promise<Server> {
  const server = createServer(createAuthority().selfSigned(OURS), (incoming, outgoing) => {
    const { method = 'GET', headers, url = '/' } = incoming
    const forwarded = request(`${target}${url}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    incoming.pipe(forwarded)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

async function ask(page: Page, host: string, question: string): Promise<void> {
  await page.goto(`https://${host}/`)
  await page.getByLabel('Question').fill(question)
  await page.getByRole('button', { name: 'Ask' }).click()
}

test('under the verified domain a page streams an answer with a short-lived secret, and never has the other one', async () => {
  const page = await browser.newPage()
  const sent: string[] = []
  page.on('request', (each) => sent.push(JSON.stringify(each.headers()) + (each.postData() ?? '')))
  const { balance } = await walletOf(world.store, world.project.id)
  await ask(page, OURS, 'Hello [[sim tokens=40 gap=50]]')
  const answer = page.locator('#answers p')
  await answer.filter({ hasText: /\w+ \w+/ }).waitFor()
  const early = (await answer.textContent())?.length ?? 0
  await page.getByRole('button', { name: 'Ask', disabled: false }).waitFor()
  const whole = (await answer.textContent()) ?? ''
  assert.ok(whole.length > early, `it grew from ${early} to ${whole.length} characters`)
  assert.equal(await page.getByRole('alert').count(), 0)
  assert.ok((await walletOf(world.store, world.project.id)).balance < balance)
  assert.ok(sent.some((text) => text.includes('ply_es_')))
  assert.ok(!(sent.join('') + (await page.content())).includes(world.project.secretKey))
})

test('when its session has expired, or its calls are used up, the page goes on with a new one', async () => {
  const page = await browser.newPage()
  await page.goto(`https://${OURS}/`)
  const answers = page.locator('#answers p')
  const askAgain = async (n: number) => {
    await page.getByLabel('Question').fill(`Hello ${n}`)
    await page.getByRole('button', { name: 'Ask' }).click()
    await answers.nth(n - 1).waitFor()
    await page.getByRole('button', { name: 'Ask', disabled: false }).waitFor()
    assert.equal(await page.getByRole('alert').count(), 0, (await answers.first().textContent()) ?? '')
  }
  await askAgain(1)
  await sql`update browser_sessions set calls_made = calls_max`.execute(world.store.db)
  await askAgain(2)
  await sql`update browser_sessions set expires_at = now()`.execute(world.store.db)
  await askAgain(3)
})

test('the same page under another domain is refused, and says why', async () => {
  const page = await browser.newPage()
  await ask(page, ANOTHERS, 'Hello')
  const alert = page.getByRole('alert')
  await alert.waitFor()
  const text = (await alert.textContent()) ?? ''
  assert.match(text, new RegExp(`https://${ANOTHERS.replace('.', '\\.')}`))
  assert.match(text, /example\.com/)
})
