import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { contract, type RouteKey } from '../../src/console/contract.ts'
import { lettersOf } from '../support/advertiser-samples.ts'
import { idsFor, requestOf, SAMPLES, seedTenant, type TenantIds } from '../support/console-samples.ts'
import {
  createConsoleWorld,
  mailedToken,
  newPerson,
  openBrowser,
  PASSWORD,
  userIdOf,
  type Answer,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'
import { killDuringAudit } from '../support/kill-during-audit.ts'
import { changesBetween, openCamera } from '../support/picture.ts'
import { startStripe, STRIPE_KEY, WEBHOOK_SECRET, type StripeStandIn } from '../support/stripe.ts'

/**
 * An audit entry never exists without its change, nor a change without its entry: every route that changes something of a
 * tenant's leaves exactly one entry with its actor, and a process that dies between the two leaves neither.
 */

let world: ConsoleWorld
let stripe: StripeStandIn
let takePicture: Awaited<ReturnType<typeof openCamera>>

before(async () => {
  stripe = await startStripe()
  world = await createConsoleWorld({
    roles: ['gateway', 'console'],
    env: {
      PARLEY_STRIPE_SECRET_KEY: STRIPE_KEY,
      PARLEY_STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      PARLEY_STRIPE_API_BASE: stripe.url,
    },
  })
  takePicture = await openCamera(world.store.db, world.secrets)
})
after(async () => {
  await world.close()
  await stripe.close()
})

/** Routes that are no GET and change nothing of a tenant's. */
const CHANGE_NOTHING = [
  'POST /api/projects/:project/playground',
  'POST /api/projects/:project/playground/code',
  // Nothing of it is stored.
  'POST /api/projects/:project/monetization/rehearsal',
  // No person is the actor of what it finds: the entry, if there is one, is Parley's.
  'POST /api/projects/:project/domain/check',
  // With an entry if it finds a proof, which the sample does not have.
  'POST /api/advertisers/:advertiser/domain/check',
  'POST /api/advertisers/:advertiser/hint-preview',
  'POST /api/advertisers/:advertiser/feed-address-checks',
  'POST /api/projects/:project/end-users/search',
  'POST /api/projects/:project/message-search',
  // They begin what another route ends.
  'POST /api/auth/passkey/options',
  'POST /api/me/passkeys/options',
  'POST /api/me/proof/passkey/options',
  'POST /api/me/two-factor',
  'POST /api/auth/send-verification-email',
  'POST /api/auth/request-password-reset',
  'POST /api/auth/sign-out',
]

/** Routes where the sign-in library writes by itself: the entry follows, outside of its transaction. */
const BY_THE_LIBRARY = [
  'POST /api/auth/sign-in/email',
  'POST /api/auth/two-factor/verify-totp',
  'POST /api/auth/two-factor/verify-backup-code',
  'POST /api/auth/passkey/sign-in',
  'POST /api/me/two-factor/confirm',
  'POST /api/me/two-factor/recovery-codes',
]

/** These need a device that signs: passkeys.test.ts has one, and checks their entries. */
const WITH_A_DEVICE = ['POST /api/me/passkeys', 'POST /api/me/proof/passkey']

type Ask = (person: Person) => Promise<Answer>

/** Requests that people make about their own account. */
const OWN_ACCOUNT: Record<string, Ask> = {
  'PATCH /api/me': (person) => person.send('PATCH /api/me', { body: { name: 'Another Name' } }),
  'POST /api/me/password': (person) =>
    person.send('POST /api/me/password', { body: { newPassword: 'a short and noisy brook' } }),
  'POST /api/me/proof': (person) => person.send('POST /api/me/proof', { body: { password: PASSWORD } }),
  'DELETE /api/me/sessions': (person) => person.send('DELETE /api/me/sessions?keep=current'),
  'POST /api/me/two-factor/disable': (person) => person.send('POST /api/me/two-factor/disable'),
  'POST /api/me/delete': (person) => person.send('POST /api/me/delete', { body: { confirm: person.email } }),
  'POST /api/me/advertisers': (person) =>
    person.send('POST /api/me/advertisers', {
      body: { name: `Second ${lettersOf(person.publisherId)}`, legalName: 'Second Ltd', domain: 'second.example.com' },
    }),
  'POST /api/auth/reset-password': async (person) => {
    const browser = openBrowser(world)
    await browser.send('POST /api/auth/request-password-reset', { body: { email: person.email } })
    const token = await mailedToken(world, person.email, 'reset-password')
    return browser.send('POST /api/auth/reset-password', { body: { token, newPassword: 'a short and noisy brook' } })
  },
}

function sampleOf(key: string, ids: TenantIds): Ask {
  const { address, body } = requestOf(key, idsFor(key, ids))
  return (person) => person.send(address, { body })
}

const mutating = (Object.keys(contract) as RouteKey[]).filter((key) => !key.startsWith('GET '))
const excepted = new Set([...CHANGE_NOTHING, ...BY_THE_LIBRARY, ...WITH_A_DEVICE])
const audited = mutating.filter((key) => !excepted.has(key))
/** They make the person, so that there is nobody to ask for them. */
const FIRST_STEPS = ['POST /api/auth/sign-up/email', 'POST /api/auth/verify-email']

test('every route that changes something is one of these', () => {
  const known = new Set([...Object.keys(SAMPLES), ...Object.keys(OWN_ACCOUNT), ...FIRST_STEPS])
  assert.deepEqual(
    audited.filter((key) => !known.has(key)),
    [],
  )
  const listed = [...CHANGE_NOTHING, ...BY_THE_LIBRARY, ...WITH_A_DEVICE, ...Object.keys(OWN_ACCOUNT), ...FIRST_STEPS]
  assert.deepEqual(
    listed.filter((key) => !(mutating as string[]).includes(key)),
    [],
  )
})

async function entriesSince(seen: ReadonlySet<string>) {
  const { rows } = await sql<{ id: string; actor_id: string | null; action: string }>`
    select publisher_id || '/' || seq as id, actor_id, action from audit_log order by at, seq`.execute(world.store.db)
  return rows.filter(({ id }) => !seen.has(id))
}

async function entriesNow(): Promise<Set<string>> {
  return new Set((await entriesSince(new Set())).map(({ id }) => id))
}

/** Attempts are counted before anything is done, and sessions are renewed by asking. */
function withoutTraces(changes: unknown[]): unknown[] {
  return changes.filter((change) => !/throttles|sessions|verifications|mails/.test(Object.keys(change as object)[0]!))
}

for (const key of audited.filter((each) => !FIRST_STEPS.includes(each))) {
  test(`${key} leaves one entry, and none without its change`, async () => {
    const person = await newPerson(world)
    const ids = await seedTenant(world, person)
    const userId = await userIdOf(person)
    const ask = OWN_ACCOUNT[key] ?? sampleOf(key, ids)
    const before = await takePicture()

    const killed = await killDuringAudit(world.store.db, () => ask(person))
    assert.ok(killed.status >= 500, `${killed.status}`)
    assert.deepEqual(withoutTraces(changesBetween(before, await takePicture())), [])

    const seen = await entriesNow()
    const answer = await ask(person)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    // People who leave take the invitations that they sent with them, and leave their advertisers: each has an entry of its own.
    const isConsequence = ({ action }: { action: string }) =>
      (/invitation[._]withdrawn$/.test(action) && !key.includes('/:invitation')) ||
      (action === 'advertiser.member_left' && !key.endsWith('/leave'))
    const entries = (await entriesSince(seen)).filter((entry) => !isConsequence(entry))
    assert.equal(entries.length, 1, JSON.stringify(entries))
    assert.equal(entries[0]?.actor_id, userId)
  })
}

test('who signs up and who confirms an address is in the log of the publisher that this makes', async () => {
  const seen = await entriesNow()
  const person = await newPerson(world)
  const userId = await userIdOf(person)
  const entries = await entriesSince(seen)
  assert.deepEqual(
    entries.map(({ action, actor_id }) => [action, actor_id]),
    [
      ['publisher.signed_up', userId],
      ['user.address_confirmed', userId],
      // By the library, with the password that confirmed it.
      ['user.signed_in', userId],
    ],
  )
})

test('a change whose description is too long for the log is made, and the log says that something was left out', async () => {
  const person = await newPerson(world)
  const ids = await seedTenant(world, person)
  const label = 'a'.repeat(60)
  const blockedDomains = Array.from({ length: 20 }, (_, n) => `n${n}.${label}.${label}.${label}.example.com`)
  const answer = await person.send(`PATCH /api/projects/${ids.project}/monetization`, {
    body: { blockedDomains, firstTurn: 3 },
  })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const entry = await world.store.db
    .selectFrom('audit_log')
    .select('details')
    .where('project_id', '=', ids.project)
    .where('action', '=', 'monetization.changed')
    .executeTakeFirstOrThrow()
  assert.deepEqual(entry.details, { firstTurn: '1 → 3', leftOut: 1 })
})
