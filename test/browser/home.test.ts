import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { firstRequest, keysFor, snippetFor } from '../../src/rules/calls/snippets.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { run } from '../support/commands.ts'
import { addKeyPair, credit } from '../support/world.ts'
import { createBrowserWorld } from './support/browser-world.ts'

const world = await createBrowserWorld()
after(() => world.close())

test('the first steps lead on, and the first request made by curl turns its step green within two seconds, by itself', async () => {
  const { page, project } = await world.signedUp()
  await page.goto(`${world.origin}/projects/${project.id}`)
  const steps = page.getByRole('region', { name: 'First steps' })
  await steps.getByText('1 of 5 done').waitFor()
  const links = await steps.getByRole('link').evaluateAll((all) => all.map((link) => link.getAttribute('href')))
  const place = `/projects/${project.id}`
  assert.deepEqual(links, [`${place}/domain`, `${place}/keys`, `${place}/quick-start`, `${place}/wallet`])
  await setDomainVerified(world.store.db, project.id, new Date())
  const keys = await addKeyPair(world.store, world.secrets, project.id)
  await credit(world.store, project.id, 1_000_000_000n)
  await steps.getByText('4 of 5 done').waitFor()
  await steps.getByText('Waiting for your first request…').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Dismiss' }).count(), 0)

  // A call that fails is told in red, and is no step forward.
  const ask = (content: string) =>
    fetch(`${world.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...keys.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content }], stream: true }),
    }).then((response) => response.text())
  await ask('[[sim fault=U14-rst]]')
  const failed = steps.getByRole('status').filter({ has: page.getByRole('link', { name: 'See the call' }) })
  await failed.waitFor()
  assert.match((await failed.getAttribute('class')) ?? '', /bg-bad-soft/)
  assert.doesNotMatch(await failed.innerText(), /Received/)
  await steps.getByText('4 of 5 done').waitFor()
  assert.equal(await steps.getByText('Done', { exact: true }).count(), 4)
  await world.check(page)

  const { text } = snippetFor('curl', world.url, firstRequest('sim-small'))
  const { stdout } = await run('sh', ['-ec', `${keysFor(keys)}\n${text}`])
  assert.match(stdout, /\[DONE\]/)
  const arrivedMs = performance.now()
  const received = steps.getByText('Received')
  await received.waitFor()
  // Two seconds are promised; the rest is for a machine that does other things as well.
  assert.ok(performance.now() - arrivedMs < 6_000)
  const { charged_nanos: charged } = await world.store.db
    .selectFrom('charges')
    .select('charged_nanos')
    .where('project_id', '=', project.id)
    .where('outcome', '=', 'completed')
    .executeTakeFirstOrThrow()
  assert.equal(await steps.locator('data[title^="$"]').getAttribute('value'), String(charged))
  await steps.getByText('All set').waitFor()
  assert.equal(await steps.getByRole('listitem').count(), 5, 'nothing folds under who looks at it')
  await world.check(page)
  await page.reload()
  await steps.getByText('All set').waitFor()
  const { height } = (await steps.boundingBox()) ?? { height: 0 }
  assert.ok(height > 0 && height < 80, `one line, so that the figures are in sight: ${height} px`)
  await world.check(page)

  await steps.getByRole('button', { name: 'Dismiss' }).click()
  await steps.waitFor({ state: 'detached' })
  await page.reload()
  await page.getByText('Spend by day').waitFor()
  assert.equal(await steps.count(), 0, 'it stays away')
  await world.check(page)
})

test('home tells the same error once, with how often it came, and leads to its calls', async () => {
  const { page, project } = await world.signedUp()
  await setDomainVerified(world.store.db, project.id, new Date())
  await credit(world.store, project.id, 1_000_000_000n)
  const { headers } = await addKeyPair(world.store, world.secrets, project.id)
  const ask = async (script: string, status: number) => {
    const response = await fetch(`${world.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content: `[[sim ${script}]]` }] }),
    })
    assert.equal(response.status, status, await response.text())
    return String(response.headers.get('x-request-id'))
  }
  await ask('status=500', 502)
  await ask('status=500', 502)
  const newest = await ask('status=500', 502)
  await page.goto(`${world.origin}/projects/${project.id}`)
  const errors = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Last errors' }) })
  await errors.getByRole('button', { name: `Copy the request id ${newest} of the newest` }).waitFor()
  assert.equal(await errors.getByRole('listitem').count(), 1)
  await world.check(page)
  await errors.getByRole('link', { name: /The model failed × 3/ }).click()
  await page.waitForURL(/\/calls\?.*error_code=upstream_failed/)
  await page.getByRole('row').filter({ hasText: 'The model failed' }).nth(2).waitFor()
  assert.equal(await page.getByLabel('Error code').inputValue(), 'upstream_failed')
  await world.check(page)
})

test('a model whose provider limits requests is told as that, at home and on the page of the call', async () => {
  const { page, project } = await world.signedUp()
  await setDomainVerified(world.store.db, project.id, new Date())
  await credit(world.store, project.id, 1_000_000_000n)
  const { headers } = await addKeyPair(world.store, world.secrets, project.id)
  const response = await fetch(`${world.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content: '[[sim fault=U10]]' }] }),
  })
  assert.equal(response.status, 503)
  assert.match(await response.text(), /The model provider is limiting requests/)
  await page.goto(`${world.origin}/projects/${project.id}`)
  await page.getByRole('link', { name: 'The provider is limiting requests' }).click()
  await page.waitForURL(/\/calls\/chatcmpl-/)
  await page.getByText('provider_rate_limited', { exact: true }).waitFor()
  await page.getByText('The provider of this model took no more requests at that moment.').first().waitFor()
  assert.doesNotMatch(await page.locator('main').innerText(), /at capacity|fault in this service|on our side/)
  await world.check(page)
})

test('the quick start shows the examples in six ways, keeps the chosen one in the address, and holds no key', async () => {
  const { page, project } = await world.signedUp()
  await page.goto(`${world.origin}/projects/${project.id}/quick-start`)
  const tabs = page.getByRole('tab')
  await tabs.first().waitFor()
  assert.deepEqual(await tabs.allTextContents(), [
    'curl',
    'OpenAI (Node)',
    'OpenAI (Python)',
    'AI SDK',
    'LangChain',
    'Environment',
  ])
  await page.getByRole('link', { name: 'Create a key pair' }).waitFor()
  await page.getByRole('tab', { name: 'LangChain' }).click()
  await page.waitForURL(/language=langchain/)
  await page.reload()
  await page.getByText("import { ChatOpenAICompletions } from '@langchain/openai'").waitFor()
  await world.check(page)
})

test('keys that were just made are in the examples, masked to the eye, and gone when one leaves', async () => {
  const { page, project } = await world.signedUp()
  await setDomainVerified(world.store.db, project.id, new Date())
  await page.goto(`${world.origin}/projects/${project.id}/keys`)
  await page.getByRole('button', { name: 'New key pair' }).first().click()
  await page.getByLabel('Name').fill('web')
  await page.getByRole('button', { name: 'Create key pair' }).click()
  await page.getByRole('checkbox', { name: 'I stored it' }).click()
  await page.getByRole('button', { name: 'Quick start with these keys' }).click()
  const shell = page.getByRole('figure').filter({ hasText: 'Shell, with your new keys' })
  await shell.waitFor()
  const shown = (await shell.textContent()) ?? ''
  assert.match(shown, /PARLEY_PUBLISHABLE_KEY='ply_pk_\w{30}'[^]*PARLEY_SECRET_KEY='ply_sk_•+'/)
  await shell.getByRole('button', { name: /^Copy/ }).click()
  const copied = await page.evaluate<string>('navigator.clipboard.readText()')
  const secret = /PARLEY_SECRET_KEY='(ply_sk_\w{51})'/.exec(copied)?.[1] ?? assert.fail('the copy holds no secret')
  const kept = 'JSON.stringify([history.state, { ...localStorage }, { ...sessionStorage }, location.href])'
  assert.equal((await page.evaluate<string>(kept)).includes(secret), false)
  await world.check(page)
  await page.getByRole('link', { name: 'Home' }).first().click()
  await page.getByText('Spend by day').waitFor()
  await page.goBack()
  await page.getByText('Replace these with your own keys.').waitFor()
})

test('where nothing can be paid, a low balance says who adds credit, has no button that leads nowhere, and is dismissed for the session', async () => {
  const { page, project } = await world.signedUp()
  await setDomainVerified(world.store.db, project.id, new Date())
  await credit(world.store, project.id, 500_000_000n)
  await page.goto(`${world.origin}/projects/${project.id}/quick-start`)
  const banner = page.getByRole('status').filter({ hasText: '$0.50 is left.' })
  await banner.getByText('The operator of this installation adds credit.').waitFor()
  assert.equal(await banner.getByRole('link').count(), 0)
  await world.check(page)
  await banner.getByRole('button', { name: 'Dismiss' }).click()
  await banner.waitFor({ state: 'detached' })
  await page.reload()
  await page.getByRole('tab', { name: 'curl' }).waitFor()
  assert.equal(await banner.count(), 0, 'it stays away in this session')
  await world.store.db.updateTable('wallets').set({ balance_nanos: 0n }).where('project_id', '=', project.id).execute()
  await page.reload()
  const empty = page.getByRole('status').filter({ hasText: 'The balance is used up, so calls are refused.' })
  await empty.waitFor()
  assert.equal(await empty.getByRole('button').count(), 0, 'what stops calls is not dismissed')
})
