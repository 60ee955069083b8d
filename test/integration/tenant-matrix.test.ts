import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { contract } from '../../src/console/contract.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { ADVERTISER_ROLES, type AdvertiserRole } from '../../src/rules/accounts/advertisers.ts'
import { ROLES, type MemberRole } from '../../src/rules/accounts/roles.ts'
import { idsFor, requestOf, SAMPLES, seedTenant, type TenantIds } from '../support/console-samples.ts'
import {
  createConsoleWorld,
  newPerson,
  openBrowser,
  type Answer,
  type Browser,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'
import { startStripe, STRIPE_KEY, WEBHOOK_SECRET, type StripeStandIn } from '../support/stripe.ts'

let world: ConsoleWorld
let stripe: StripeStandIn
let mine: TenantIds
let me: Person
let theirs: TenantIds
let they: Person

before(async () => {
  stripe = await startStripe()
  world = await createConsoleWorld({
    env: {
      PARLEY_STRIPE_SECRET_KEY: STRIPE_KEY,
      PARLEY_STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      PARLEY_STRIPE_API_BASE: stripe.url,
    },
  })
  me = await newPerson(world, { name: 'Me Myself' })
  mine = await seedTenant(world, me)
  they = await newPerson(world, { name: 'Zanzibar Gazette' })
  theirs = await seedTenant(world, they)
})
after(async () => {
  await world.close()
  await stripe.close()
})

const naming = Object.keys(contract).filter((key) => key.includes('/:'))
/** The same, once the first test is green. */
const sampled = naming.filter((key) => key in SAMPLES)

function send(browser: Browser, key: string, ids: Record<string, string>): Promise<Answer> {
  const { address, body } = requestOf(key, ids)
  return browser.send(address, { body })
}

/** All that a caller can see of an answer, but for what differs from one request to the next anyway. */
function visible({ status, text, headers }: Answer): object {
  const kept = [...headers].filter(([name]) => !['x-request-id', 'date', 'set-cookie'].includes(name))
  return { status, text, headers: kept }
}

test('every route that names something by an id has a sample in test/support/console-samples.ts', () => {
  assert.deepEqual(Object.keys(SAMPLES).toSorted(), naming.toSorted())
})

test('each sample is answered when the ids are the caller’s own and their role is the least that the route asks for', async () => {
  const { db } = world.store
  for (const key of sampled) {
    const person = key.startsWith('GET') ? me : await newPerson(world)
    const ids = key.startsWith('GET') ? mine : await seedTenant(world, person)
    const role = TOUCHES_AN_OWNER.has(key) ? 'owner' : (leastRoleOf(key) ?? 'owner')
    const { id } = (await person.send('GET /api/me')).body.user
    await db.updateTable('memberships').set({ role }).where('user_id', '=', id).execute()
    const advertiserRole = LEAST_ADVERTISER_ROLE[key] ?? 'viewer'
    await db.updateTable('advertiser_members').set({ role: advertiserRole }).where('user_id', '=', id).execute()
    const { status, text } = await send(person, key, idsFor(key, ids))
    assert.equal(status, 200, `${key}: ${text}`)
    await db.updateTable('memberships').set({ role: 'owner' }).where('user_id', '=', id).execute()
    await db.updateTable('advertiser_members').set({ role: 'admin' }).where('user_id', '=', id).execute()
  }
})

test('a route that needs a fresh proof is refused when the last one is eleven minutes old, with ids of one’s own', async () => {
  const person = await newPerson(world)
  const ids = await seedTenant(world, person)
  await sql`update sessions s set proven_at = now() - interval '11 minutes' from users u
    where u.id = s.user_id and u.email = ${person.email}`.execute(world.store.db)
  const needing = sampled.filter((key) => 'freshProof' in contract[key as keyof typeof contract])
  assert.equal(needing.length, 28)
  for (const key of needing) {
    const { status, body } = await send(person, key, idsFor(key, ids))
    assert.deepEqual([status, body.code], [403, 'proof_needed'], key)
  }
})

test('what is somebody else’s is answered like what is not there, byte for byte, whichever id is asked for', async () => {
  const secrets = [they.name, they.email, ...Object.values(theirs)]
  for (const key of sampled) {
    // More requests a minute than a person may send.
    await sql`delete from throttles`.execute(world.store.db)
    const own = idsFor(key, mine)
    for (const [, name = ''] of key.matchAll(/:(\w+)/g)) {
      const absent = visible(await send(me, key, { ...own, [name]: uuidv7() }))
      assert.equal((absent as { status: number }).status, 404, `${key} ${name}`)
      for (const [kind, id] of Object.entries(theirs)) {
        const answer = await send(me, key, { ...own, [name]: id })
        assert.deepEqual(visible(answer), absent, `${key}: ${name} = their ${kind}`)
        assert.ok(!secrets.some((secret) => answer.text.includes(secret)), key)
      }
    }
    const allTheirs = await send(me, key, idsFor(key, theirs))
    assert.equal(allTheirs.status, 404, key)
  }
  const shop = await send(they, 'GET /api/advertisers/:advertiser/members', { advertiser: theirs.advertiser })
  assert.equal(shop.body.members.length, 2, 'nor of their advertiser')
  const still = await send(
    they,
    'GET /api/publishers/:publisher/team',
    idsFor('GET /api/publishers/:publisher/team', theirs),
  )
  assert.equal(still.body.members.length, 2, 'and nothing of theirs has changed')
})

test('who is not signed in learns nothing of any id', async () => {
  const nobody = openBrowser(world)
  for (const key of sampled) {
    const answers = await Promise.all([
      send(nobody, key, idsFor(key, theirs)),
      send(nobody, key, { ...idsFor(key, theirs), publisher: uuidv7(), project: uuidv7(), advertiser: uuidv7() }),
    ])
    assert.deepEqual(
      answers.map(({ status }) => status),
      [401, 401],
      key,
    )
    assert.deepEqual(visible(answers[0]), visible(answers[1]), key)
  }
})

/**
 * The least role of each route, written out a second time on purpose: a line that changes in the contract has to change
 * here too. Who is a viewer may see everything but the audit log, and leave.
 */
const LEAST_ROLE: Record<string, MemberRole> = {
  'DELETE /api/projects/:project': 'owner',
  'PUT /api/publishers/:publisher/limits': 'owner',
  'GET /api/publishers/:publisher/audit-log': 'admin',
  'GET /api/publishers/:publisher/audit-log.csv': 'admin',
  'PATCH /api/publishers/:publisher': 'admin',
  'POST /api/publishers/:publisher/invitations': 'admin',
  'DELETE /api/publishers/:publisher/invitations/:invitation': 'admin',
  'PATCH /api/publishers/:publisher/members/:member': 'admin',
  'DELETE /api/publishers/:publisher/members/:member': 'admin',
  'POST /api/publishers/:publisher/projects': 'admin',
  'PATCH /api/projects/:project': 'admin',
  'PATCH /api/projects/:project/settings': 'admin',
  'PATCH /api/projects/:project/domain': 'admin',
  'POST /api/projects/:project/checkouts': 'admin',
  'PUT /api/projects/:project/wallet-alert': 'admin',
  'PUT /api/projects/:project/auto-top-up': 'admin',
  'DELETE /api/projects/:project/auto-top-up': 'admin',
  'DELETE /api/projects/:project/card': 'admin',
  // It has the payer's name and address on it.
  'GET /api/projects/:project/top-ups/:payment/invoice': 'admin',
  'PUT /api/projects/:project/alert-rules': 'admin',
  'GET /api/projects/:project/webhooks': 'admin',
  'POST /api/projects/:project/webhooks': 'admin',
  'POST /api/projects/:project/webhooks/:endpoint/secret': 'admin',
  'PATCH /api/projects/:project/webhooks/:endpoint': 'admin',
  'DELETE /api/projects/:project/webhooks/:endpoint': 'admin',
  'POST /api/projects/:project/webhooks/:endpoint/test': 'admin',
  'GET /api/projects/:project/webhooks/:endpoint/deliveries': 'admin',
  'POST /api/projects/:project/webhook-deliveries/:delivery/replay': 'admin',
  'DELETE /api/projects/:project/conversations/:conversation': 'admin',
  'PUT /api/projects/:project/limits': 'admin',
  'PUT /api/projects/:project/end-user-limits': 'admin',
  'PUT /api/projects/:project/keys/:key/limits': 'admin',
  'PUT /api/projects/:project/end-users/:endUser/limits': 'admin',
  'DELETE /api/projects/:project/end-users/:endUser': 'admin',
  'PATCH /api/projects/:project/monetization': 'admin',
  'PUT /api/projects/:project/monetization/mode': 'admin',
  'PUT /api/projects/:project/monetization/blocked-advertisers': 'admin',
  'POST /api/projects/:project/domain/check': 'developer',
  'POST /api/projects/:project/keys': 'developer',
  'POST /api/projects/:project/keys/:key/roll': 'developer',
  'POST /api/projects/:project/keys/:key/end': 'developer',
  'PATCH /api/projects/:project/keys/:key': 'developer',
  'DELETE /api/projects/:project/keys/:key': 'developer',
  'DELETE /api/projects/:project/browser-sessions/:session': 'developer',
  'DELETE /api/projects/:project/keys/:key/browser-sessions': 'developer',
  'POST /api/projects/:project/playground': 'developer',
  'POST /api/projects/:project/playground/code': 'developer',
  'POST /api/projects/:project/monetization/rehearsal': 'developer',
  'PUT /api/projects/:project/monetization/library': 'admin',
  'POST /api/projects/:project/saved-prompts': 'developer',
  'PUT /api/projects/:project/saved-prompts/:prompt': 'developer',
  'PATCH /api/projects/:project/saved-prompts/:prompt': 'developer',
  'DELETE /api/projects/:project/saved-prompts/:prompt': 'developer',
  'POST /api/projects/:project/onboarding/dismiss': 'developer',
  'POST /api/projects/:project/end-users/search': 'viewer',
  'POST /api/projects/:project/message-search': 'viewer',
  'POST /api/publishers/:publisher/leave': 'viewer',
}
/** The same of advertisers. */
const LEAST_ADVERTISER_ROLE: Record<string, AdvertiserRole> = {
  'POST /api/advertisers/:advertiser/invitations': 'admin',
  'DELETE /api/advertisers/:advertiser/invitations/:invitation': 'admin',
  'PATCH /api/advertisers/:advertiser/members/:member': 'admin',
  'DELETE /api/advertisers/:advertiser/members/:member': 'admin',
  'POST /api/advertisers/:advertiser/checkouts': 'admin',
  'POST /api/advertisers/:advertiser/domain/check': 'editor',
  'POST /api/advertisers/:advertiser/campaigns': 'editor',
  'PATCH /api/advertisers/:advertiser/campaigns/:campaign': 'editor',
  'PUT /api/advertisers/:advertiser/campaigns/:campaign/status': 'editor',
  'POST /api/advertisers/:advertiser/hint-preview': 'editor',
  'POST /api/advertisers/:advertiser/campaigns/:campaign/feeds': 'editor',
  'POST /api/advertisers/:advertiser/feed-address-checks': 'editor',
  'PUT /api/advertisers/:advertiser/feeds/:feed': 'editor',
  'PUT /api/advertisers/:advertiser/feeds/:feed/paused': 'editor',
  'POST /api/advertisers/:advertiser/feeds/:feed/fetch': 'editor',
  'DELETE /api/advertisers/:advertiser/feeds/:feed': 'editor',
  'POST /api/advertisers/:advertiser/campaigns/:campaign/feed-uploads': 'editor',
  'POST /api/advertisers/:advertiser/feed-uploads/:upload/publish': 'editor',
  'DELETE /api/advertisers/:advertiser/feed-uploads/:upload': 'editor',
  'POST /api/advertisers/:advertiser/leave': 'viewer',
}
/** Their samples are about an owner, whom nobody else may touch. */
const TOUCHES_AN_OWNER = new Set([
  'PATCH /api/publishers/:publisher/members/:member',
  'DELETE /api/publishers/:publisher/members/:member',
])

function leastRoleOf(key: string): MemberRole | undefined {
  return /\/:(?:publisher|project)\b/.test(key) ? (LEAST_ROLE[key] ?? 'viewer') : undefined
}

test('each route asks for the role that is written down here, and every change of a tenant is written down', () => {
  for (const [key, entry] of Object.entries(contract))
    assert.equal('role' in entry ? entry.role : undefined, leastRoleOf(key), key)
  for (const [key, entry] of Object.entries(contract)) {
    const least = key.includes('/:advertiser') ? (LEAST_ADVERTISER_ROLE[key] ?? 'viewer') : undefined
    assert.equal('advertiserRole' in entry ? entry.advertiserRole : undefined, least, key)
  }
  const changesOfAdvertisers = Object.keys(contract).filter((key) => /^[^G].*\/:advertiser/.test(key))
  assert.deepEqual(changesOfAdvertisers.toSorted(), Object.keys(LEAST_ADVERTISER_ROLE).toSorted())
  const changes = Object.keys(contract).filter((key) => leastRoleOf(key) && !key.startsWith('GET'))
  assert.deepEqual(
    changes.filter((key) => !(key in LEAST_ROLE)),
    [],
  )
})

test('a member with a lower role than the route asks for is refused, whatever they send', async () => {
  const { db } = world.store
  const guest = await newPerson(world)
  const user_id = (await guest.send('GET /api/me')).body.user.id
  await db.insertInto('memberships').values({ publisher_id: mine.publisher, user_id, role: 'viewer' }).execute()
  const refused: string[] = []
  for (const held of ['viewer', 'developer', 'admin'] as const) {
    await db.updateTable('memberships').set({ role: held }).where('user_id', '=', user_id).execute()
    for (const [key, least] of Object.entries(LEAST_ROLE)) {
      if (ROLES.indexOf(held) <= ROLES.indexOf(least)) continue
      const { status, body } = await send(guest, key, idsFor(key, mine))
      const who = least === 'owner' ? 'an owner' : 'an owner or an admin'
      const sentence = `This needs the role ${least}, but you are ${held}. Ask ${who} of the account.`
      assert.deepEqual([status, body.message], [403, sentence], key)
      refused.push(held)
    }
  }
  const times = (held: MemberRole) => refused.filter((role) => role === held).length
  const asking = (least: MemberRole) => Object.values(LEAST_ROLE).filter((role) => role === least).length
  const [owner, admin, developer] = [asking('owner'), asking('admin'), asking('developer')]
  assert.ok(owner > 0 && admin > 0 && developer > 0)
  const expected = [owner + admin + developer, owner + admin, owner]
  assert.deepEqual([times('viewer'), times('developer'), times('admin')], expected)
})

test('a member of an advertiser with a lower role than the route asks for is refused, whatever they send', async () => {
  const { db } = world.store
  const guest = await newPerson(world)
  const user_id = (await guest.send('GET /api/me')).body.user.id
  await db
    .insertInto('advertiser_members')
    .values({ advertiser_id: mine.advertiser, user_id, role: 'viewer' })
    .execute()
  let refused = 0
  for (const held of ['viewer', 'editor'] as const) {
    await db.updateTable('advertiser_members').set({ role: held }).where('user_id', '=', user_id).execute()
    for (const [key, least] of Object.entries(LEAST_ADVERTISER_ROLE)) {
      if (ADVERTISER_ROLES.indexOf(held) <= ADVERTISER_ROLES.indexOf(least)) continue
      const { status, body } = await send(guest, key, idsFor(key, mine))
      const sentence = `This needs the role ${least}, but you are ${held}. Ask an admin of the advertiser.`
      assert.deepEqual([status, body.message], [403, sentence], key)
      refused += 1
    }
  }
  assert.equal(refused, 24)
})
