import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { sql } from 'kysely'
import { createSandbox } from '../../src/actions/sandbox.ts'
import { setPublisherActivated } from '../../src/actions/accounts/publishers.ts'
import { PARLEY } from '../../src/actions/actor.ts'
import { createCheckDomain } from '../../src/actions/projects/domain-check/check.ts'
import { recordCheck } from '../../src/actions/projects/domains.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { SANDBOX_REFUSALS } from '../../src/rules/sandbox.ts'
import { grantDueTrialCredits } from '../../src/store/billing/trial-credit.ts'
import { creditWallet } from '../../src/store/billing/wallets.ts'
import { findDomain, setDomainVerified } from '../../src/store/projects/domains.ts'
import { insertPublisher } from '../../src/store/accounts/publishers.ts'
import { withTenant } from '../../src/store/tenancy.ts'
import { checkDueDomains } from '../../src/worker/check-domains.ts'
import {
  createConsoleWorld,
  mailedToken,
  must,
  newPerson,
  newProject,
  ORIGIN,
  PASSWORD,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'
import { addOffer, createFixedMatcher, setMonetization, type FixedMatcher } from '../support/fixed-matcher.ts'
import { auditOf } from '../support/ledger.ts'
import { asked, refused, told } from '../support/operator.ts'
import { startStripe, STRIPE_KEY, WEBHOOK_SECRET, type StripeStandIn } from '../support/stripe.ts'
import { addKeyPair, addModel, chatBody, complete, credit, until, walletOf } from '../support/world.ts'

/** The project that answers before any DNS: what it gives, and what nobody gets out of it. */

const SANDBOX_DOMAIN = 'sandbox.operator.example'
const DOLLAR = 1_000_000_000n
const NAME = /^[b-df-hjkmnp-tv-xz2-9]{12}\.sandbox\.operator\.example$/

let world: ConsoleWorld
let matcher: FixedMatcher
let stripe: StripeStandIn

before(async () => {
  matcher = await createFixedMatcher()
  stripe = await startStripe()
  const payments = {
    PARLEY_STRIPE_SECRET_KEY: STRIPE_KEY,
    PARLEY_STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    PARLEY_STRIPE_API_BASE: stripe.url,
    PARLEY_CHECKOUT_SUCCESS_URL: 'https://a.example/',
  }
  const sandboxes = { PARLEY_SANDBOX_DOMAIN: 'Sandbox.Operator.example', PARLEY_TRIAL_CREDIT: '1' }
  world = await createConsoleWorld({ env: { ...payments, ...sandboxes, PARLEY_MATCHER_URL: matcher.url } })
  const { DATABASE_URL, PARLEY_SECRET } = world.env
  Object.assign(process.env, payments, sandboxes, { DATABASE_URL, PARLEY_SECRET })
})
after(async () => {
  await world.close()
  await matcher.close()
  await stripe.close()
})
afterEach(async () => assert.deepEqual(await auditOf(world.store), []))

interface Project {
  id: string
  name: string
  domain: string
  domainVerifiedAt: string | null
  balanceNanos: string
  isSandbox: boolean
}

async function projectsOf(person: Person): Promise<Project[]> {
  return (await must(person.send('GET /api/me'))).body.publishers[0].projects
}

async function sandboxOf(person: Person): Promise<Project> {
  return (await projectsOf(person)).find(({ isSandbox }) => isSandbox) ?? assert.fail('there is no sandbox')
}

let people = 0

/** Someone whose address is no claim of anybody else's. */
function newcomer(options: { confirms?: boolean } = {}): Promise<Person> {
  return newPerson(world, { ...options, email: `someone@newcomer${(people += 1)}.example` })
}

async function pairIn(project: string) {
  const { publisherId } = world.project
  return { publisherId, id: project, ...(await addKeyPair(world.store, world.secrets, project)) }
}

function inTransaction<T>(work: Parameters<ReturnType<typeof world.store.db.transaction>['execute']>[0]): Promise<T> {
  return world.store.db.transaction().execute(work) as Promise<T>
}

test('who confirms an address has a sandbox with the trial credit, and a key pair of it is answered without any DNS', async () => {
  const person = await newcomer()
  const projects = await projectsOf(person)
  assert.equal(projects.length, 1)
  const sandbox = await sandboxOf(person)
  assert.deepEqual([sandbox.name, sandbox.balanceNanos], ['Sandbox', String(DOLLAR)])
  assert.match(sandbox.domain, NAME)
  const body = { name: 'First', expiresInDays: null }
  const made = await must(person.send(`POST /api/projects/${sandbox.id}/keys`, { body }))
  const { publishableKey, secretKey } = made.body
  const headers = { 'x-publishable-key': publishableKey, 'x-secret-key': secretKey }
  const response = await fetch(`${world.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ ...chatBody('tokens=5'), stream: true }),
  })
  assert.equal(response.status, 200)
  assert.match(await response.text(), /data: \[DONE\]\s*$/)
  const log = await must(person.send(`GET /api/publishers/${person.publisherId}/audit-log`))
  const entries = log.body.items.filter(({ action }: { action: string }) => action === 'project.created')
  assert.equal(entries.length, 1)
  assert.partialDeepStrictEqual(entries[0], { actor: 'Parley', details: { domain: sandbox.domain, isSandbox: true } })
})

test('before the activation there is none, and who sets a new password by mail gets theirs too', async () => {
  const person = await newcomer({ confirms: false })
  assert.deepEqual(await projectsOf(person), [])
  const nothing = await inTransaction((tx) =>
    createSandbox(tx, PARLEY, { publisherId: person.publisherId, sandboxDomain: SANDBOX_DOMAIN }),
  )
  assert.equal(nothing, undefined)
  await must(person.send('POST /api/auth/request-password-reset', { body: { email: person.email } }))
  const token = await mailedToken(world, person.email, 'reset-password')
  await must(person.send('POST /api/auth/reset-password', { body: { token, newPassword: `${PASSWORD} anew` } }))
  const { rows } = await sql`
    select p.name from projects p where p.publisher_id = ${person.publisherId} and is_sandbox`.execute(world.store.db)
  assert.deepEqual(rows, [{ name: 'Sandbox' }])
})

test('a deactivated publisher is refused in its sandbox as anywhere', async () => {
  const person = await newcomer()
  const { id } = await sandboxOf(person)
  const project = await pairIn(id)
  const decide = (isActivated: boolean) =>
    inTransaction((tx) =>
      setPublisherActivated(tx, PARLEY, {
        publisherId: person.publisherId,
        isActivated,
        sandboxDomain: SANDBOX_DOMAIN,
      }),
    )
  await decide(false)
  assert.equal((await complete(world, chatBody('tokens=5'), { project })).status, 403)
  await decide(true)
  assert.equal((await projectsOf(person)).length, 1, 'activated again, and no second one')
})

test('no check of the worker fails it or lets it lapse, and nobody can ask for one', async () => {
  const person = await newcomer()
  const { id, domain: name } = await sandboxOf(person)
  const { db } = world.store
  assert.partialDeepStrictEqual(await findDomain(db, id), { provenBy: 'sandbox', nextCheckAt: null })
  const view = (await must(person.send(`GET /api/projects/${id}/domain`))).body
  assert.equal(view.state, 'verified')
  assert.match(view.explanation, /belongs to the operator/)
  // As if it were due all the same, for as long as it takes to lapse.
  const check = createCheckDomain({ dnsServers: ['127.0.0.1:9'] })
  for (let day = 0; day < 3; day++) {
    await db
      .updateTable('domains')
      .set({ next_check_at: new Date(Date.now() - 1) })
      .where('project_id', '=', id)
      .execute()
    const { signal } = new AbortController()
    await checkDueDomains({ ...world.store, secrets: world.secrets, consoleUrl: ORIGIN, check, signal })
    await until(async () => (await findDomain(db, id))?.nextCheckAt === null)
  }
  const { token } = (await findDomain(db, id)) ?? assert.fail()
  const findings = await check({ name, token })
  await withTenant(world.store.tenants, { publisherId: person.publisherId, projectId: id }, (tx) =>
    recordCheck(
      tx,
      { secrets: world.secrets, consoleUrl: ORIGIN },
      { publisherId: person.publisherId, projectId: id, name, token, findings, isAsked: true },
    ),
  )
  const after = await findDomain(db, id)
  assert.deepEqual([after?.provenBy, after?.verifiedAt !== null, after?.misses], ['sandbox', true, 0])
  const asked = await person.send(`POST /api/projects/${id}/domain/check`)
  assert.deepEqual([asked.status, asked.body.message], [409, SANDBOX_REFUSALS.domainCheck])
})

test('its domain cannot be changed, by its owner or by a command', async () => {
  const person = await newcomer()
  const { id, domain } = await sandboxOf(person)
  const answer = await person.send(`PATCH /api/projects/${id}/domain`, { body: { name: 'mine.example' } })
  assert.deepEqual([answer.status, answer.body.message], [409, SANDBOX_REFUSALS.domain])
  assert.match(await refused('domain', 'set', id, 'mine.example'), /^A sandbox keeps its domain\./)
  assert.equal((await findDomain(world.store.db, id))?.name, domain)
})

test('nobody claims the operator’s sandbox domain or a name below it, however it is written', async () => {
  const person = await newcomer()
  const other = await newcomer()
  const theirs = (await sandboxOf(other)).domain
  const own = await newProject(person, 'Site', 'honest.example')
  const names = [
    SANDBOX_DOMAIN,
    `www.${SANDBOX_DOMAIN}`,
    theirs,
    `deeper.${theirs}`,
    theirs.toUpperCase(),
    'SANDBOX.Operator.Example',
    `${SANDBOX_DOMAIN}.`,
    `https://${SANDBOX_DOMAIN}/`,
    'ｓａｎｄｂｏｘ.operator.example',
    'sandbox。operator。example',
    'ＳＡＮＤＢＯＸ．operator｡example',
    'ſandbox.operator.example',
    `bücher.${SANDBOX_DOMAIN}`,
  ]
  for (const name of names) {
    const body = { name: 'Claim', domain: name }
    const created = await person.send(`POST /api/publishers/${person.publisherId}/projects`, { body })
    assert.equal(created.status, 422, name)
    assert.match(created.body.message, /^domain: sandbox\.operator\.example and all names below it are for sandboxes/)
    const changed = await person.send(`PATCH /api/projects/${own}/domain`, { body: { name } })
    assert.equal(changed.status, 422, name)
    assert.match(changed.body.message, /^name: sandbox\.operator\.example and all names below it/)
  }
  const claim = ['project', 'create', 'Claim', '--publisher', person.publisherId, '--domain', theirs]
  assert.match(await refused(...claim), /all names below it are for sandboxes/)
  assert.match(await refused('domain', 'set', own, `x.${SANDBOX_DOMAIN}`), /all names below it are for sandboxes/)
  // Only what is below it, and not what ends alike.
  await newProject(person, 'Near', 'notsandbox.operator.example')
  await newProject(person, 'Above', 'operator.example')
})

test('a publisher has one sandbox, also if it is asked for many times at once, and none again once it is deleted', async () => {
  const { db } = world.store
  const publisher = { id: uuidv7(), name: 'Press', email: `press@${uuidv7()}.example`, activatedAt: new Date() }
  await insertPublisher(db, publisher)
  await db.updateTable('publishers').set({ trial_credit_nanos: DOLLAR }).where('id', '=', publisher.id).execute()
  const make = () =>
    inTransaction<{ id: string } | undefined>((tx) =>
      createSandbox(tx, PARLEY, { publisherId: publisher.id, sandboxDomain: SANDBOX_DOMAIN }),
    )
  const made = (await Promise.all([make(), make(), make(), make()])).filter((each) => each !== undefined)
  assert.equal(made.length, 1)
  assert.equal((await walletOf(world.store, String(made[0]?.id))).balance, DOLLAR)

  const person = await newcomer()
  const { id } = await sandboxOf(person)
  await must(person.send(`DELETE /api/projects/${id}`, { body: { leavesCredit: true } }))
  const input = { publisherId: person.publisherId, isActivated: true, sandboxDomain: SANDBOX_DOMAIN }
  await inTransaction((tx) => setPublisherActivated(tx, PARLEY, input))
  assert.deepEqual(await projectsOf(person), [])
  assert.match(await refused('publisher', 'sandbox', person.publisherId), /already has or had its one sandbox/)
  await assert.rejects(
    sql`insert into projects (id, publisher_id, name, is_sandbox) values (${uuidv7()}, ${person.publisherId}, 'Second', true)`.execute(
      db,
    ),
    { constraint: 'one_sandbox_per_publisher' },
  )
  assert.equal((await complete(world, chatBody('tokens=5'), { project: await pairIn(id) })).status, 401)
})

test('trial credit is the sandbox’s, once per publisher and per claim, also for two workers at once', async () => {
  const { db } = world.store
  const person = await newcomer()
  const { id } = await sandboxOf(person)
  const own = await newProject(person, 'Site', 'own-site.example')
  await setDomainVerified(db, own, new Date())
  // As if it had been promised and not granted yet.
  await db.updateTable('publishers').set({ trial_credit_nanos: DOLLAR }).where('id', '=', person.publisherId).execute()
  await sql`delete from trial_claims where digest = sha256(convert_to(${person.email}, 'UTF8'))`.execute(db)
  const direct = await sql`select grant_trial_credit(${person.publisherId}, ${own}, ${['x']}) as granted`.execute(db)
  assert.deepEqual(direct.rows, [{ granted: false }], 'not to another project')
  await Promise.all([grantDueTrialCredits(db, 10), grantDueTrialCredits(db, 10), grantDueTrialCredits(db, 10)])
  assert.equal((await walletOf(world.store, own)).balance, 0n)
  assert.equal((await walletOf(world.store, id)).balance, DOLLAR, 'the transfer’s reference is used up')

  const mailbox = await newPerson(world, { email: 'tester@gmail.com' })
  assert.equal((await sandboxOf(mailbox)).balanceNanos, String(DOLLAR))
  const again = await newPerson(world, { email: 't.e.s.t.e.r+2@googlemail.com' })
  assert.equal((await sandboxOf(again)).balanceNanos, '0')
  const neighbour = await newPerson(world, { email: 'neighbour@gmail.com' })
  assert.equal((await sandboxOf(neighbour)).balanceNanos, String(DOLLAR), 'the operator’s domain is nobody’s claim')
})

test('two workers that find the same credit due grant it once', async () => {
  const { db } = world.store
  const publisher = { id: uuidv7(), name: 'Late', email: `late@${uuidv7()}.example`, activatedAt: new Date() }
  await insertPublisher(db, publisher)
  const made = await inTransaction<{ id: string }>((tx) =>
    createSandbox(tx, PARLEY, { publisherId: publisher.id, sandboxDomain: SANDBOX_DOMAIN }),
  )
  await db.updateTable('publishers').set({ trial_credit_nanos: DOLLAR }).where('id', '=', publisher.id).execute()
  await Promise.all([1, 2, 3, 4].map(() => grantDueTrialCredits(db, 10)))
  assert.equal((await walletOf(world.store, made.id)).balance, DOLLAR)
})

test('a deleted sandbox takes its promise along, and no worker looks for it for ever', async () => {
  const { db } = world.store
  const person = await newcomer()
  const own = await newProject(person, 'Site', 'left-behind.example')
  await setDomainVerified(db, own, new Date())
  const { id } = await sandboxOf(person)
  await must(person.send(`DELETE /api/projects/${id}`, { body: { leavesCredit: true } }))
  await db.updateTable('publishers').set({ trial_credit_nanos: DOLLAR }).where('id', '=', person.publisherId).execute()
  assert.equal(await grantDueTrialCredits(db, 10), 0)
  assert.equal((await walletOf(world.store, own)).balance, 0n)
})

test('its credit is neither bought nor moved: not by a payment, a command or a statement', async () => {
  const person = await newcomer()
  const { id } = await sandboxOf(person)
  const own = await newProject(person, 'Site', 'wallet-site.example')
  const paid = await person.send(`POST /api/projects/${id}/checkouts`, { body: { amountNanos: String(10n * DOLLAR) } })
  assert.deepEqual([paid.status, paid.body.message], [409, SANDBOX_REFUSALS.topUp])
  assert.equal(stripe.checkouts.length, 0, 'the payment provider was not asked')
  assert.match(await refused('wallet', 'topup', id, '5'), /^A sandbox takes no top-ups\./)
  assert.match(await refused('wallet', 'checkout', id, '5'), /^A sandbox takes no top-ups\./)
  assert.match(await refused('wallet', 'refund', id, '1', '--reason', 'x'), /^Nothing was ever paid in a sandbox/)
  const { db } = world.store
  const topUp = {
    id: uuidv7(),
    projectId: id,
    amount: DOLLAR,
    reference: 'sneaked',
    reason: null,
    kind: 'topup',
  } as const
  await assert.rejects(creditWallet(db, topUp), { constraint: 'sandbox_credit_stays' })
  for (const [from, to] of [
    [id, own],
    [own, id],
  ]) {
    await assert.rejects(
      sql`select ledger_transfer(${uuidv7()}, ${from}, ${to}, 1, 'adjustment', ${uuidv7()}, null, null)`.execute(db),
      { constraint: 'sandbox_credit_stays' },
    )
  }
  assert.equal((await walletOf(world.store, id)).balance, DOLLAR)
  // An operator may still give and take by hand.
  await told('wallet', 'grant', id, '1', '--reason', 'more to try')
  await told('wallet', 'adjust', id, '-0.5', '--reason', 'enough')
  assert.equal((await walletOf(world.store, id)).balance, (3n * DOLLAR) / 2n)
  await credit(world.store, own, DOLLAR)
})

test('its limits are the operator’s: small, enforced, and not its publisher’s to raise', async () => {
  const person = await newcomer()
  const { id } = await sandboxOf(person)
  const { body } = await must(person.send(`GET /api/projects/${id}/limits`))
  const rates = body.operator.rates.map(({ name, limit }: { name: string; limit: number }) => [name, limit])
  assert.deepEqual(
    new Map(rates),
    new Map([
      ['requests', 20],
      ['calls', 2],
    ] as [string, number][]),
  )
  assert.partialDeepStrictEqual(body.project.budgets, [{ period: 'day', limitNanos: '500000000' }])
  const none = { requestsPerMinute: null, tokensPerMinute: null, concurrentCalls: null }
  const more = { ...none, dayNanos: null, weekNanos: null, monthNanos: null, totalNanos: null }
  const raised = await person.send(`PUT /api/projects/${id}/limits`, { body: more })
  assert.deepEqual([raised.status, raised.body.message], [409, SANDBOX_REFUSALS.limits])
  const wanted = { scope: 'project', subject: id, publisher_id: person.publisherId, project_id: id }
  await assert.rejects(
    withTenant(world.store.tenants, { publisherId: person.publisherId, projectId: id }, (tx) =>
      sql`select limits_set(json_populate_record(null::limits, ${JSON.stringify(wanted)}::json))`.execute(tx),
    ),
    { code: '42501' },
  )
  const project = await pairIn(id)
  assert.equal((await complete(world, chatBody('tokens=5'), { project })).status, 200)
  await told('limits', 'set', '--project', id, '--day', '0')
  const refusedCall = await complete(world, chatBody('tokens=5'), { project })
  assert.equal(refusedCall.status, 403)
  assert.match(await refusedCall.text(), /budget/)
})

test('only chats are answered: a model that makes embeddings is neither listed nor to be had', async () => {
  await addModel(world.store, { id: 'sim-embed', kind: 'embedding', provider: 'simulator' })
  const models = async (headers: Record<string, string>) =>
    (await (await fetch(`${world.url}/v1/models`, { headers })).json()) as { data: { id: string }[] }
  await until(async () => (await models(world.project.headers)).data.some(({ id }) => id === 'sim-embed'))
  const person = await newcomer()
  const project = await pairIn((await sandboxOf(person)).id)
  assert.deepEqual(
    (await models(project.headers)).data.map(({ id }) => id),
    ['sim-small'],
  )
  const embed = (headers: Record<string, string>) =>
    fetch(`${world.url}/v1/embeddings`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-embed', input: 'one' }),
    })
  assert.equal((await embed(project.headers)).status, 422)
  assert.equal((await embed(world.project.headers)).status, 200)
})

test('recommendations can be off or in test only, and no statement makes them shown', async () => {
  const person = await newcomer()
  const { id } = await sandboxOf(person)
  const mode = (word: string) => person.send(`PUT /api/projects/${id}/monetization/mode`, { body: { mode: word } })
  const on = await mode('on')
  assert.deepEqual([on.status, on.body.message], [409, SANDBOX_REFUSALS.recommendations])
  const { body } = await must(person.send(`GET /api/projects/${id}/monetization`))
  assert.equal(body.obstacle, SANDBOX_REFUSALS.recommendations)
  await must(mode('test'))
  const floor = (floorNanos: string) => person.send(`PATCH /api/projects/${id}/monetization`, { body: { floorNanos } })
  const asked = await floor('100000000')
  assert.deepEqual([asked.status, asked.body.message], [409, SANDBOX_REFUSALS.floor])
  await must(floor('0'))
  // A floor from the time when sandboxes had one hinders no other change, and can be sent again with it.
  await world.store.db
    .updateTable('monetization')
    .set({ floor_nanos: 50_000_000n })
    .where('project_id', '=', id)
    .execute()
  await must(floor('50000000'))
  assert.equal((await floor('50000001')).status, 409)

  const { db } = world.store
  matcher.reply = { outcome: 'matched', match: await addOffer(db) }
  await db.deleteFrom('monetization').where('project_id', '=', id).execute()
  await setMonetization(db, id)
  await credit(world.store, world.project.id, DOLLAR)
  await setMonetization(db, world.project.id)
  const answer = 'For flights, look for over-ear headphones with active noise cancelling and a long battery life.'
  const content = `Which headphones are good for flights? [[sim text=${encodeURIComponent(answer)}]]`
  const request = { model: 'sim-small', messages: [{ role: 'user', content }] }
  const reply = async (project: typeof world.project) => (await complete(world, request, { project })).text()
  await until(async () => (await reply(world.project)).includes('sponsored'))
  assert.doesNotMatch(await reply(await pairIn(id)), /sponsored/)
  const states = () => db.selectFrom('recommendations').select('state').where('project_id', '=', id).execute()
  // Written down before it is known whether the reply arrived.
  await until(async () => (await states()).some(({ state }) => state !== 'aborted'))
  assert.deepEqual(await states(), [{ state: 'test' }], 'decided and counted, and nobody can be billed for it')
})

test('the first steps of a sandbox ask for no domain and no credit, and end with a project of one’s own', async () => {
  const person = await newcomer()
  const { id } = await sandboxOf(person)
  const steps = async () => (await must(person.send(`GET /api/projects/${id}/onboarding`))).body
  const dismiss = () => person.send(`POST /api/projects/${id}/onboarding/dismiss`)
  assert.partialDeepStrictEqual(await steps(), { isActivated: true, isSandbox: true, hasOwnProject: false })
  await complete(world, chatBody('tokens=5'), { project: await pairIn(id) })
  await until(async () => (await steps()).call !== null)
  assert.equal((await dismiss()).status, 409)
  const own = await newProject(person, 'Site', 'go-live.example')
  assert.equal((await steps()).hasOwnProject, true)
  const { body } = await must(person.send(`GET /api/projects/${own}/onboarding`))
  assert.partialDeepStrictEqual(body, { isSandbox: false, hasOwnProject: true })
  assert.equal((await dismiss()).status, 200)
})

test('an operator’s activation makes one, operators list and delete them, and give one to whoever was there before', async () => {
  const { db } = world.store
  const waiting = (await asked('publisher', 'create', 'Waiting')) as { id: string }
  await told('publisher', 'activate', waiting.id)
  await told('publisher', 'activate', waiting.id)
  const active = (await asked('publisher', 'create', 'Active', '--activate')) as { id: string }
  const before = { id: uuidv7(), name: 'Before', email: null, activatedAt: new Date() }
  await insertPublisher(db, before)
  const made = (await asked('publisher', 'sandbox', before.id)) as { id: string; domain: string }
  assert.match(made.domain, NAME)
  assert.match(await refused('publisher', 'sandbox', before.id), /already has or had its one sandbox/)
  assert.match(await refused('publisher', 'sandbox', uuidv7()), /^There is no publisher/)
  for (const { id } of [waiting, active, before]) {
    const list = await told('project', 'list', '--publisher', id)
    assert.match(list, /^ID +NAME +DOMAIN +VERIFIED +SANDBOX +BALANCE/m)
    assert.equal(list.match(/Sandbox +\S+ +yes +yes +\$0\.00/g)?.length, 1)
  }
  assert.match(await told('domain', 'show', made.id), /^record +none: the domain of a sandbox is yours$/m)
  await told('wallet', 'grant', made.id, '1')
  assert.match(await refused('project', 'delete', made.id), /^\$1\.00 of credit is left\. Use --leave-credit/)
  assert.match(await told('project', 'delete', made.id, '--leave-credit'), /is deleted\.$/m)
  assert.match(await told('project', 'list', '--publisher', before.id), /^There are no projects yet/)
  assert.match(await refused('project', 'delete', made.id, '--leave-credit'), /^There is no project/)
})

test('an account can be deleted with what is left in its sandbox', async () => {
  const person = await newcomer()
  assert.equal((await sandboxOf(person)).balanceNanos, String(DOLLAR))
  await must(person.send('POST /api/me/delete', { body: { confirm: person.email } }))
})
