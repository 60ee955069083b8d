import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { contract } from '../../src/console/contract.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { createAuthenticator } from '../support/authenticator.ts'
import {
  createConsoleWorld,
  must,
  newPerson,
  newProject,
  openBrowser,
  ORIGIN,
  PASSWORD,
  type Browser,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'
import { oneTimeCode } from '../support/one-time-code.ts'

/** Before keys, roles and money change, somebody has to have shown in this very session, just now, that it is them. */

let world: ConsoleWorld

before(async () => {
  world = await createConsoleWorld({ roles: ['console', 'worker'] })
})
after(() => world.close())

async function grow(minutes: number): Promise<void> {
  await sql`update sessions set proven_at = proven_at - ${minutes} * interval '1 minute'`.execute(world.store.db)
}

function prove(browser: Browser, body: object) {
  return browser.send('POST /api/me/proof', { body })
}

async function keyMaker(): Promise<{ person: Person; make(browser?: Browser): Promise<number> }> {
  const person = await newPerson(world)
  const project = await newProject(person)
  await setDomainVerified(world.store.db, project, new Date())
  const make = async (browser: Browser = person) => {
    const { status, body } = await browser.send(`POST /api/projects/${project}/keys`, { body: { name: 'Server' } })
    if (status === 403) assert.equal(body.code, 'proof_needed')
    return status
  }
  return { person, make }
}

test('a stolen session cookie alone makes no key', async () => {
  const { person, make } = await keyMaker()
  await grow(11)
  const thief = openBrowser(world)
  for (const [name, value] of person.cookies) thief.cookies.set(name, value)
  await must(thief.send('GET /api/me'))
  assert.equal(await make(thief), 403)
  const keys = world.store.db.selectFrom('key_pairs').select('id').where('name', '=', 'Server')
  assert.deepEqual(await keys.execute(), [])
})

test('signing in is a proof for ten minutes, and the password is one again', async () => {
  const { person, make } = await keyMaker()
  await grow(9)
  assert.equal(await make(), 200)
  await grow(2)
  assert.equal(await make(), 403)
  assert.equal((await prove(person, { password: 'not the password' })).status, 422)
  assert.equal(await make(), 403)
  await must(prove(person, { password: PASSWORD }))
  assert.equal(await make(), 200)
  const path = `GET /api/publishers/${person.publisherId}/audit-log?action=user.identity_proven`
  assert.equal((await must(person.send(path))).body.items.length, 1)
})

test('a proof counts in the session in which it was given, and in no other', async () => {
  const { person, make } = await keyMaker()
  const elsewhere = openBrowser(world)
  await must(elsewhere.send('POST /api/auth/sign-in/email', { body: { email: person.email, password: PASSWORD } }))
  await grow(11)
  await must(prove(elsewhere, { password: PASSWORD }))
  assert.equal(await make(), 403)
  assert.equal(await make(elsewhere), 200)
})

test('where two-factor is on, a proof takes a code besides the password, and a code works once', async () => {
  const { person, make } = await keyMaker()
  const { uri } = (await must(person.send('POST /api/me/two-factor'))).body
  const secret = String(new URL(uri).searchParams.get('secret'))
  const code = (steps: number) => oneTimeCode(secret, Date.now() + steps * 30_000)
  const first = code(0)
  await must(person.send('POST /api/me/two-factor/confirm', { body: { code: first } }))
  await grow(11)
  for (const body of [{}, { code: '000000' }, { code: first }]) {
    const refused = await prove(person, { password: PASSWORD, ...body })
    assert.deepEqual([refused.status, refused.body.fields[0].path], [422, 'code'], refused.text)
  }
  assert.equal((await prove(person, { password: 'not the password', code: code(1) })).status, 422)
  assert.equal(await make(), 403)
  await grow(-1)
  await sql`delete from throttles`.execute(world.store.db)
  await must(prove(person, { password: PASSWORD, code: code(1) }))
  assert.equal(await make(), 200)
})

test('a session that somebody left open is no way to try passwords', async () => {
  const { person } = await keyMaker()
  const statuses: number[] = []
  for (let n = 0; n < 6; n++) statuses.push((await prove(person, { password: 'a guess of many' })).status)
  assert.deepEqual(statuses, [422, 422, 422, 422, 422, 429])
})

test('nothing about the account itself changes without a fresh proof', async () => {
  const { person } = await keyMaker()
  await grow(11)
  const credential = createAuthenticator(ORIGIN).create({ challenge: 'x', rp: { id: 'x' }, user: { id: 'x' } })
  const bodies: Record<string, object | undefined> = {
    'POST /api/me/password': { newPassword: 'a completely new password' },
    'POST /api/me/two-factor': undefined,
    'POST /api/me/two-factor/confirm': { code: '123456' },
    'POST /api/me/two-factor/recovery-codes': undefined,
    'POST /api/me/two-factor/disable': undefined,
    'POST /api/me/delete': { confirm: person.email },
    'POST /api/me/passkeys/options': undefined,
    'POST /api/me/passkeys': { name: 'Laptop', credential },
  }
  assert.deepEqual(
    Object.keys(bodies).toSorted(),
    [...NEEDS_PROOF].filter((key) => /^\w+ \/api\/me\/[^:]*$/.test(key)).toSorted(),
  )
  for (const [key, body] of Object.entries(bodies)) {
    const answer = await person.send(key, { body })
    assert.deepEqual([answer.status, answer.body.code], [403, 'proof_needed'], key)
  }
  await must(person.send('GET /api/me'))
})

/** Every change that the console offers, and whether it needs a fresh proof. One that is missing here fails the test. */
const NEEDS_PROOF = new Set([
  'POST /api/projects/:project/keys',
  'POST /api/projects/:project/keys/:key/roll',
  'POST /api/projects/:project/keys/:key/end',
  'PATCH /api/projects/:project/keys/:key',
  'DELETE /api/projects/:project/keys/:key',
  'DELETE /api/projects/:project/browser-sessions/:session',
  'DELETE /api/projects/:project/keys/:key/browser-sessions',
  'POST /api/projects/:project/webhooks',
  'POST /api/projects/:project/webhooks/:endpoint/secret',
  'PATCH /api/projects/:project/webhooks/:endpoint',
  'DELETE /api/projects/:project/webhooks/:endpoint',
  'POST /api/publishers/:publisher/invitations',
  'DELETE /api/publishers/:publisher/invitations/:invitation',
  'PATCH /api/publishers/:publisher/members/:member',
  'DELETE /api/publishers/:publisher/members/:member',
  'POST /api/publishers/:publisher/leave',
  'POST /api/me/invitations/:invitation/accept',
  'PATCH /api/projects/:project/domain',
  'POST /api/projects/:project/checkouts',
  'PUT /api/projects/:project/auto-top-up',
  'DELETE /api/projects/:project',
  'POST /api/advertisers/:advertiser/invitations',
  'DELETE /api/advertisers/:advertiser/invitations/:invitation',
  'PATCH /api/advertisers/:advertiser/members/:member',
  'DELETE /api/advertisers/:advertiser/members/:member',
  'POST /api/advertisers/:advertiser/leave',
  'POST /api/advertisers/:advertiser/checkouts',
  'POST /api/me/password',
  'POST /api/me/passkeys/options',
  'POST /api/me/passkeys',
  'DELETE /api/me/passkeys/:passkey',
  'POST /api/me/two-factor',
  'POST /api/me/two-factor/confirm',
  'POST /api/me/two-factor/recovery-codes',
  'POST /api/me/two-factor/disable',
  'POST /api/me/delete',
])
const NEEDS_NONE = new Set([
  // Before there is a session, or to end one.
  'POST /api/auth/sign-up/email',
  'POST /api/auth/send-verification-email',
  'POST /api/auth/verify-email',
  'POST /api/auth/sign-in/email',
  'POST /api/auth/two-factor/verify-totp',
  'POST /api/auth/two-factor/verify-backup-code',
  'POST /api/auth/passkey/options',
  'POST /api/auth/passkey/sign-in',
  'POST /api/auth/sign-out',
  'POST /api/auth/request-password-reset',
  'POST /api/auth/reset-password',
  'DELETE /api/me/sessions',
  'DELETE /api/me/sessions/:session',
  // The proof itself.
  'POST /api/me/proof',
  'POST /api/me/proof/passkey/options',
  'POST /api/me/proof/passkey',
  // Names, settings and text: nothing that opens or costs anything.
  'PATCH /api/me',
  'PATCH /api/me/passkeys/:passkey',
  'PATCH /api/publishers/:publisher',
  'POST /api/publishers/:publisher/projects',
  'PATCH /api/projects/:project',
  'PATCH /api/projects/:project/settings',
  'POST /api/projects/:project/saved-prompts',
  'PUT /api/projects/:project/saved-prompts/:prompt',
  'PATCH /api/projects/:project/saved-prompts/:prompt',
  'DELETE /api/projects/:project/saved-prompts/:prompt',
  'POST /api/projects/:project/onboarding/dismiss',
  'POST /api/projects/:project/domain/check',
  'POST /api/advertisers/:advertiser/domain/check',
  'POST /api/me/invitations/:invitation/decline',
  'DELETE /api/projects/:project/conversations/:conversation',
  'PUT /api/projects/:project/wallet-alert',
  // Less is charged then, and nothing more.
  'DELETE /api/projects/:project/auto-top-up',
  'DELETE /api/projects/:project/card',
  'PUT /api/projects/:project/alert-rules',
  'POST /api/projects/:project/webhooks/:endpoint/test',
  'POST /api/projects/:project/webhook-deliveries/:delivery/replay',
  'PUT /api/projects/:project/monetization/mode',
  'PATCH /api/projects/:project/monetization',
  'PUT /api/projects/:project/monetization/blocked-advertisers',
  // Spending more takes a key, and a key takes a proof.
  'PUT /api/publishers/:publisher/limits',
  'PUT /api/projects/:project/limits',
  'PUT /api/projects/:project/end-user-limits',
  'PUT /api/projects/:project/keys/:key/limits',
  'PUT /api/projects/:project/end-users/:endUser/limits',
  'DELETE /api/projects/:project/end-users/:endUser',
  'POST /api/projects/:project/end-users/search',
  'POST /api/projects/:project/message-search',
  // It waits for the operator, and has no credit.
  'POST /api/me/advertisers',
  // Spends what is in the wallet, and fills it from nowhere.
  'POST /api/advertisers/:advertiser/campaigns',
  'PATCH /api/advertisers/:advertiser/campaigns/:campaign',
  'PUT /api/advertisers/:advertiser/campaigns/:campaign/status',
  'POST /api/advertisers/:advertiser/campaigns/:campaign/feeds',
  'POST /api/advertisers/:advertiser/feed-address-checks',
  'PUT /api/advertisers/:advertiser/feeds/:feed',
  'PUT /api/advertisers/:advertiser/feeds/:feed/paused',
  'POST /api/advertisers/:advertiser/feeds/:feed/fetch',
  'DELETE /api/advertisers/:advertiser/feeds/:feed',
  'POST /api/advertisers/:advertiser/campaigns/:campaign/feed-uploads',
  'POST /api/advertisers/:advertiser/feed-uploads/:upload/publish',
  'DELETE /api/advertisers/:advertiser/feed-uploads/:upload',
  // Spends what the project may spend anyway, and shows no key.
  'POST /api/projects/:project/playground',
  'POST /api/projects/:project/playground/code',
  // Shows what may be read anyway.
  'POST /api/advertisers/:advertiser/hint-preview',
  'POST /api/projects/:project/monetization/rehearsal',
  'PUT /api/projects/:project/monetization/library',
])

test('every change of the contract says whether it needs a fresh proof', () => {
  for (const [key, entry] of Object.entries(contract)) {
    if (key.startsWith('GET ')) {
      assert.ok(!('freshProof' in entry), key)
      continue
    }
    assert.ok(NEEDS_PROOF.has(key) !== NEEDS_NONE.has(key), `${key} is in neither list, or in both`)
    assert.equal('freshProof' in entry && entry.freshProof, NEEDS_PROOF.has(key), key)
  }
})
