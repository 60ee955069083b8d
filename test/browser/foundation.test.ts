import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { mailedToken, newPerson, PASSWORD } from '../support/console.ts'
import { createBrowserWorld, faultsOf, PHONE, waitForFocus, type BrowserWorld } from './support/browser-world.ts'
import { oneTimeCode } from '../support/one-time-code.ts'
import { until } from '../support/world.ts'

let world: BrowserWorld
before(async () => {
  world = await createBrowserWorld()
})
after(() => world.close())

async function signIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

function heading(page: Page, name: string) {
  return page.getByRole('heading', { level: 1, name })
}

test('a publisher signs up, confirms the address, signs in and creates a project', async () => {
  const { page, context } = await world.visit()
  await page.goto('/')
  await page.getByRole('link', { name: 'Sign in' }).first().click()
  await heading(page, 'Sign in').waitFor()
  assert.equal(await page.title(), 'Sign in · Parley')
  await world.check(page)

  await page.getByRole('link', { name: 'Create an account' }).click()
  await heading(page, 'Create an account').waitFor()
  await world.check(page)
  await page.getByLabel('Your name').fill('Ada Lovelace')
  await page.getByLabel('Publisher').fill('Example Media')
  await page.getByLabel('Email').fill('ada@example.com')
  await page.getByLabel('Password', { exact: true }).fill('too short')
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('alert').filter({ hasText: 'At least 12 characters.' }).waitFor()
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Create account' }).click()

  await heading(page, 'Check your email').waitFor()
  await page.getByText('ada@example.com').waitFor()
  await world.check(page)

  await page.goto(`/activate#token=${await mailedToken(world, 'ada@example.com', 'activate')}`)
  await heading(page, 'Confirm your email address').waitFor()
  assert.equal(new URL(page.url()).hash, '', 'the token does not stay in the address')
  assert.equal(await page.getByLabel('Email').inputValue(), 'ada@example.com')
  await world.check(page)
  await page.getByLabel('Password', { exact: true }).fill('not the one of the sign-up')
  await page.getByRole('button', { name: 'Confirm address' }).click()
  await page.getByRole('alert').filter({ hasText: 'This is not the password of this account.' }).waitFor()
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Confirm address' }).click()
  await page.getByText('the account is active').waitFor()
  await world.check(page)

  await page.getByRole('link', { name: 'Go to the console' }).click()
  await heading(page, 'Create your first project').waitFor()
  await world.check(page)
  await page.getByLabel('Name').fill('Recipes')
  await page.getByLabel('Domain').fill('recipes.example.com')
  await page.getByRole('button', { name: 'Create project' }).click()
  await page.getByRole('button', { name: /^Switch project: Recipes/ }).waitFor()
  await world.check(page)
  await context.close()
})

test('the owner of an address that a stranger signed up with makes the account theirs', async () => {
  const email = 'dora@example.com'
  const stranger = await world.visitAs(await newPerson(world, { email, confirms: false }))
  await stranger.page.goto('/account')
  assert.equal(await stranger.page.getByRole('button', { name: 'Turn on' }).isDisabled(), true)

  const { page, context } = await world.visit()
  await page.goto(`/activate#token=${await mailedToken(world, email, 'activate')}`)
  await page.getByRole('button', { name: 'I did not sign up, or forgot the password' }).click()
  await heading(page, 'Claim this account').waitFor()
  await world.check(page)
  await page.getByLabel('New password').fill('dora chose this herself')
  await page.getByRole('button', { name: 'Set password and confirm' }).click()
  await page.getByText('the account is active').waitFor()
  await page.getByRole('link', { name: 'Go to the console' }).click()
  await heading(page, 'Create your first project').waitFor()

  await stranger.page.reload()
  await heading(stranger.page, 'Sign in').waitFor()
  await signIn(stranger.page, email)
  await stranger.page.getByText('The email address or the password is incorrect.').waitFor()
  await stranger.context.close()
  await context.close()
})

test('a person signs in with the keyboard alone', async () => {
  const { email } = await newPerson(world)
  const { page, context } = await world.visit()
  await page.goto('/sign-in')
  await heading(page, 'Sign in').waitFor()
  const focused = () =>
    page.evaluate<string>('document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent')
  assert.equal(await focused(), 'Email', 'the first field has the focus')
  await page.keyboard.type(email)
  await page.keyboard.press('Tab')
  assert.equal(await focused(), 'Forgot password?')
  await page.keyboard.press('Tab')
  assert.equal(await focused(), 'Password')
  await page.keyboard.type(PASSWORD)
  await page.keyboard.press('Enter')
  await heading(page, 'Create your first project').waitFor()
  await context.close()
})

test('a link into the console survives the sign-in, and a hostile one leads nowhere', async () => {
  const { page, context, person } = await world.signedUp()
  await context.clearCookies()
  await page.goto(`/publishers/${person.publisherId}/team?x=1`)
  await heading(page, 'Sign in').waitFor()
  await signIn(page, person.email)
  await heading(page, 'Team').waitFor()
  assert.equal(page.url(), `${world.origin}/publishers/${person.publisherId}/team?x=1`)

  await context.clearCookies()
  await page.goto('/sign-in?next=//evil.example/')
  await signIn(page, person.email)
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  assert.equal(new URL(page.url()).origin, world.origin)
  await context.close()
})

test("somebody else's project and one that does not exist look the same", async () => {
  const [mine, other] = [await world.signedUp(), await world.signedUp()]
  for (const id of [other.project.id, '0198aaaa-0000-7000-8000-000000000001']) {
    await mine.page.goto(`/projects/${id}/settings`)
    await mine.page.getByRole('heading', { name: 'Page not found' }).waitFor()
  }
  await mine.context.close()
  await other.context.close()
})

test('two-factor sign-in is turned on with the QR code, and asked for afterwards; a recovery code works once', async () => {
  const { page, context, person } = await world.signedUp()
  await page.goto('/account')
  await page.getByRole('button', { name: 'Turn on' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('img', { name: 'QR code of the secret' }).waitFor()
  await world.check(page)
  const secret = await page.getByLabel('the secret', { exact: true }).textContent()
  await page.getByLabel('Six digits from the app').fill(oneTimeCode(String(secret), Date.now()))
  await page.getByRole('button', { name: 'Turn on' }).last().click()
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
  await world.check(page)
  const codes = await page.getByRole('dialog').getByRole('listitem').allTextContents()
  assert.equal(codes.length, 10)
  await page.getByRole('checkbox').click()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: 'New recovery codes' }).waitFor()

  for (const isFirstTime of [true, false]) {
    await context.clearCookies()
    await page.goto('/sign-in')
    await signIn(page, person.email)
    await heading(page, 'One more step').waitFor()
    await world.check(page)
    await page.getByRole('button', { name: 'Use a recovery code instead' }).click()
    await page.getByLabel('Recovery code').fill(String(codes[0]))
    await page.getByRole('button', { name: 'Continue' }).click()
    if (isFirstTime) await page.getByRole('navigation', { name: 'Main' }).waitFor()
    else await page.getByRole('alert').waitFor()
  }
  await context.close()
})

test('a forgotten password is replaced through the mail', async () => {
  const { email } = await newPerson(world)
  const { page, context } = await world.visit()
  await page.goto('/forgot-password')
  await page.getByLabel('Email').fill(email)
  await page.getByRole('button', { name: 'Send link' }).click()
  await page.getByText('an email with a link is on its way').waitFor()
  await world.check(page)
  await page.goto(`/reset-password#token=${await mailedToken(world, email, 'reset-password')}`)
  await world.check(page)
  await page.getByLabel('New password').fill('another long and quiet river')
  await page.getByRole('button', { name: 'Change password' }).click()
  await heading(page, 'Sign in').waitFor()
  await signIn(page, email, 'another long and quiet river')
  await heading(page, 'Create your first project').waitFor()
  await context.close()
})

test('an invited colleague accepts, appears in the team, and cannot do what the role does not allow', async () => {
  const { page, context, person } = await world.signedUp()
  const colleague = await newPerson(world)
  await page.goto(`/publishers/${person.publisherId}/team`)
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByRole('dialog').waitFor()
  await waitForFocus(page.getByLabel('Email'))
  await page.keyboard.type('not an address')
  await page.getByRole('button', { name: 'Send invitation' }).click()
  await page.getByRole('alert').filter({ hasText: 'Enter an email address like' }).waitFor()
  await world.check(page)
  await page.getByLabel('Email').fill(colleague.email)
  await page.getByLabel('Role').selectOption('viewer')
  await page.getByRole('button', { name: 'Send invitation' }).click()
  await page.getByRole('table', { name: 'Invitations' }).getByText(colleague.email).waitFor()

  const guest = await world.visitAs(colleague)
  await guest.page.goto('/')
  await guest.page.getByRole('button', { name: 'Accept' }).click()
  await guest.page.getByRole('button', { name: /^Switch project: Recipes/ }).waitFor()
  await guest.page.goto(`/publishers/${person.publisherId}/team`)
  await guest.page.getByRole('table', { name: 'Members' }).getByText(colleague.email).waitFor()
  assert.equal(await guest.page.getByRole('button', { name: 'Invite' }).count(), 0)
  assert.equal(await guest.page.getByRole('link', { name: 'Audit log' }).count(), 0)
  await guest.context.close()
  await context.close()
})

test('on a phone the navigation is a drawer that gives the focus back', async () => {
  const { page, context } = await world.signedUp({ viewport: PHONE })
  await page.goto('/')
  const open = page.getByRole('button', { name: 'Open the navigation' })
  await open.click()
  await page.getByRole('dialog', { name: 'Navigation' }).waitFor()
  await world.check(page)
  await page.keyboard.press('Escape')
  await page.getByRole('dialog', { name: 'Navigation' }).waitFor({ state: 'detached' })
  await waitForFocus(open)
  await open.click()
  await page.getByRole('dialog').getByRole('link', { name: 'Team' }).click()
  await heading(page, 'Team').waitFor()
  await context.close()
})

test('the theme is chosen before the first paint, and a choice outlives a reload', async () => {
  const { page, context } = await world.signedUp({ colorScheme: 'dark' })
  const theme = () => page.evaluate<string>('document.documentElement.dataset.theme')
  // No module of the app runs here: only the blocking script in the head can have set it.
  await page.route('**/assets/*.js', (route) => route.abort())
  await page.goto('/account')
  assert.equal(await theme(), 'dark')
  await page.unroute('**/assets/*.js')
  await page.goto('/account')
  assert.equal(await theme(), 'dark')
  await page
    .getByRole('button', { name: /^Account of/ })
    .first()
    .click()
  await world.check(page)
  await page.getByRole('menuitem', { name: 'Light' }).click()
  assert.equal(await theme(), 'light')
  await page.reload()
  assert.equal(await theme(), 'light')
  await context.close()
})

test('what cannot be loaded says why, with the request id, inside the page, and loads on retry', async () => {
  const { page, context, person } = await world.signedUp()
  await page.route('**/team', (route) => {
    if (route.request().resourceType() !== 'fetch') return route.continue()
    return route.fulfill({
      status: 403,
      headers: { 'x-request-id': 'request-42' },
      json: { statusCode: 403, error: 'Forbidden', message: 'Only in the afternoon.' },
    })
  })
  await page.goto(`/publishers/${person.publisherId}/team`)
  await page.getByText('Only in the afternoon.').waitFor()
  await page.getByText('request-42').waitFor()
  await heading(page, 'Team').waitFor()
  await world.check(page)
  await page.unroute('**/team')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('table', { name: 'Members' }).getByText(person.email).waitFor()
  await context.close()
})

test('who signs out everywhere else stays signed in, and there the next answer leads to the sign-in and back', async () => {
  const { page, context, person } = await world.signedUp()
  await page.goto(`/publishers/${person.publisherId}/team`)
  await heading(page, 'Team').waitFor()
  const here = await world.visit()
  await here.page.goto('/account')
  await signIn(here.page, person.email)
  const others = here.page.getByRole('button', { name: 'Sign out everywhere else' })
  await others.click()
  await others.waitFor({ state: 'detached', timeout: 10_000 })
  await here.page.getByText('This one').waitFor({ timeout: 10_000 })
  await here.context.close()
  await page.getByRole('link', { name: 'Audit log' }).click()
  await heading(page, 'Sign in').waitFor()
  await signIn(page, person.email)
  await heading(page, 'Audit log').waitFor()
  await context.close()
})

test('the watch over pages notices inline styles, moved content, errors and unreadable text', async () => {
  const faults: [script: string, fault: RegExp][] = [
    [
      `document.head.append(Object.assign(document.createElement('style'), { textContent: 'p { color: red }' }))`,
      /content security policy: style-src/,
    ],
    [`document.getElementById('root').style.paddingTop = '200px'`, /layout shift/],
    [`document.querySelector('h1').style.opacity = '0.2'`, /color-contrast/],
    [`setTimeout(() => { throw new Error('oh no') })`, /oh no/],
  ]
  for (const [script, fault] of faults) {
    const { page, context } = await world.visit()
    await page.goto('/sign-in')
    await heading(page, 'Sign in').waitFor()
    await page.evaluate(script)
    await assert.rejects(world.check(page), fault, script)
    await context.close()
  }
})

test('the watch over pages forgives what moves because of a change that took long, and nothing after that', async () => {
  const move = `document.getElementById('root').style.paddingTop = '200px'`
  const { page, context } = await world.visit()
  await page.route('**/slow', async (route) => {
    await setTimeout(800)
    await route.fulfill({ status: 204 })
  })
  await page.goto('/sign-in')
  await heading(page, 'Sign in').waitFor()
  await heading(page, 'Sign in').click()
  await page.evaluate(`fetch('/slow', { method: 'POST' }).then(() => { ${move} })`)
  await setTimeout(1_500)
  assert.deepEqual(await faultsOf(page), [])
  await heading(page, 'Sign in').click()
  await page.evaluate(`fetch('/slow').then(() => { ${move.replace('200px', '0')} })`)
  await until(async () => (await faultsOf(page)).length > 0)
  assert.match((await faultsOf(page)).join(), /^layout shift/)
  await context.close()
})
