import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { numberOccurrences } from '../../src/rules/calls/conversations.ts'
import type { Message } from '../../src/rules/calls/message.ts'
import { deleteConversation, expireContent, recordTurn } from '../../src/store/calls/conversations.ts'
import { addMissingWords, searchMessages } from '../../src/store/calls/message-search.ts'
import { inTransaction, type Db } from '../../src/store/database.ts'
import { withTenant } from '../../src/store/tenancy.ts'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld, type Person } from '../support/console.ts'

const DIGEST_KEY = Buffer.alloc(32, 3)
let world: ConsoleWorld
let owner: Person
let project: string

before(async () => {
  world = await createConsoleWorld()
  owner = await newPerson(world)
  project = await newProject(owner)
})
after(() => world.close())

function say(id: string, messages: unknown[], options: { days?: number; projectId?: string } = {}): Promise<unknown> {
  return recordTurn(world.store.db, {
    conversation: { projectId: options.projectId ?? project, id },
    callId: uuidv7(),
    messages: numberOccurrences(messages as Message[], DIGEST_KEY),
    retentionDays: options.days ?? 30,
  })
}

const user = (content: unknown) => ({ role: 'user', content })

function search(text: string, more: object = {}, { person = owner, projectId = project } = {}) {
  return person.send(`POST /api/projects/${projectId}/message-search`, { body: { text, ...more } })
}

/** All of it: a search whose time is over is gone on with. */
async function found(text: string, in_?: Parameters<typeof search>[2]): Promise<string[]> {
  const conversations: string[] = []
  for (let next: string | null | undefined; next !== null;) {
    const { body } = await must(search(text, { limit: 50, ...(next && { after: next }) }, in_))
    conversations.push(...body.items.map(({ conversation }: { conversation: string }) => conversation))
    next = body.next
  }
  return conversations
}

async function words(): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*)::int as n from message_words`.execute(world.store.db)
  return rows[0]?.n ?? 0
}

test('words, phrases and what is excluded find what was said, the newest first, and not the instructions', async () => {
  await say('rye', [{ role: 'system', content: 'You sell Zwieback.' }, user('How do I bake rye bread?')])
  await say('wheat', [
    user('Bread of rye and wheat'),
    { role: 'assistant', content: 'Knead it. ZWIEBACK needs no yeast.' },
  ])
  await say('parts', [
    user([
      { type: 'text', text: 'Müsli, e-mail me' },
      { type: 'text', text: 'rye bread' },
    ]),
  ])
  await say('refusal', [{ role: 'assistant', content: null, refusal: 'I cannot discuss croissants.' }])
  assert.deepEqual(await found('rye'), ['parts', 'wheat', 'rye'])
  assert.deepEqual(await found('BREAD rye'), ['parts', 'wheat', 'rye'])
  assert.deepEqual(await found('"rye bread"'), ['parts', 'rye'])
  assert.deepEqual(await found('bread -"rye bread"'), ['wheat'])
  assert.deepEqual(await found('rye -wheat -müsli'), ['rye'])
  assert.deepEqual(await found('zwieback'), ['wheat'], 'not what the app told the model')
  assert.deepEqual(await found('croissants'), ['refusal'])
  assert.deepEqual(await found('e-mail'), ['parts'])
  assert.deepEqual(await found('bre'), [], 'whole words')
  assert.deepEqual(await found('rye nowhere'), [])
})

test('the snippet shows what was found, and nothing that was said can pose as a mark', async () => {
  await say('marks', [
    user(`Before \u0001posing\u0002 as a \u202ematch, the ${'long '.repeat(80)}kringle of ${'the end '.repeat(50)}`),
  ])
  const { body } = await must(search('kringle'))
  const [{ snippet, role, at }] = body.items
  assert.equal(role, 'user')
  assert.ok(Date.parse(at) > Date.now() - 60_000)
  const matches = snippet.filter(({ isMatch }: { isMatch: boolean }) => isMatch)
  assert.deepEqual(matches, [{ text: 'kringle', isMatch: true }])
  const shown = snippet.map(({ text }: { text: string }) => text).join('')
  assert.ok(shown.length < 400 && shown.includes('long kringle of the end'), shown)
  const posing = await must(search('posing'))
  const pieces: { text: string; isMatch: boolean }[] = posing.body.items[0].snippet
  assert.deepEqual(pieces.map(({ text }) => text).slice(0, 2), ['Before ', 'posing'])
  assert.ok(!pieces.some(({ text }) => text.includes('\u202e')))
})

test('what cannot be looked for is refused with a sentence', async () => {
  for (const [text, sentence] of [
    ['', /Enter a word/],
    ['-rye', /at least one word/],
    ['"?!"', /at least one word/],
    ['a '.repeat(13), /At most 12/],
    ['a'.repeat(201), /At most 200/],
  ] as const) {
    const { status, body } = await search(text)
    assert.equal(status, 422, text)
    assert.match(JSON.stringify(body), sentence)
  }
  assert.equal((await search('rye', { after: 'x' })).status, 422)
  assert.deepEqual(await found("rye' & !bread | (:*"), await found('rye bread'), 'operators are no operators')
})

test('nobody finds what another project or publisher has, by its own words or by its id', async () => {
  const stranger = await newPerson(world)
  const theirs = await newProject(stranger)
  const second = await newProject(owner, 'Second', 'second.example.com')
  await say('secret', [user('The launch is called Bluebird')])
  assert.deepEqual(await found('bluebird'), ['secret'])
  assert.deepEqual(await found('bluebird', { person: stranger, projectId: theirs }), [])
  assert.deepEqual(await found('bluebird', { projectId: second }), [])
  assert.equal((await search('bluebird', {}, { person: stranger })).status, 404)
  const tenant = { publisherId: stranger.publisherId, projectId: theirs }
  const text = { sought: ['bluebird'], unwanted: [] }
  const ask = (projectId: string) =>
    withTenant(world.store.tenants, tenant, (tx) =>
      searchMessages(tx, projectId, { text, before: undefined, most: 10, budgetMs: 1_000 }),
    )
  assert.deepEqual((await ask(theirs)).messages, [])
  await assert.rejects(ask(project), /not the one of this transaction/)
  await assert.rejects(
    withTenant(world.store.tenants, tenant, (tx) => sql`select * from message_words`.execute(tx)),
    /permission denied/,
  )
})

test('what is deleted, has expired or was never kept is not found, and its words are gone', async () => {
  const before = await words()
  await say('deleted', [user('Quince marmalade')])
  await say('expired', [user('Quince jelly'), user('Quince paste')], { days: 1 })
  await say('unkept', [user('Quince tart')], { days: 0 })
  assert.equal(await words(), before + 3)
  assert.deepEqual(await found('quince'), ['expired', 'expired', 'deleted'])
  const { db } = world.store
  await sql`update messages set content_expires_at = now() - interval '1 second' where conversation_id = 'expired'`.execute(
    db,
  )
  assert.deepEqual(await found('quince'), ['deleted'], 'also before the worker has erased it')
  assert.equal(await expireContent(db, 100), 2)
  assert.equal(await words(), before + 1)
  await deleteConversation(db, { projectId: project, id: 'deleted' })
  assert.deepEqual(await found('quince'), [])
  assert.equal(await words(), before)
})

test('pages go on where the last one ended, and a search whose time is over says where to go on', async () => {
  for (let n = 0; n < 5; n++) await say(`page-${n}`, [user(`Pretzel number ${n}`)])
  const pages: string[][] = []
  for (let next: string | null | undefined; next !== null;) {
    const { body } = await must(search('pretzel', { limit: 2, ...(next && { after: next }) }))
    pages.push(body.items.map(({ conversation }: { conversation: string }) => conversation))
    next = body.next
  }
  assert.deepEqual(pages, [['page-4', 'page-3'], ['page-2', 'page-1'], ['page-0']])
  const text = { sought: ['pretzel'], unwanted: [] }
  const hurried = { text, before: undefined, most: 10, budgetMs: -1 }
  const { messages, stoppedAt } = await inTransaction(world.store.db, (tx) => searchMessages(tx, project, hurried))
  assert.deepEqual(messages, [])
  const rest = { ...hurried, before: stoppedAt, budgetMs: 1_000 }
  const later = await inTransaction(world.store.db, (tx) => searchMessages(tx, project, rest))
  assert.equal(later.messages.length, 5, 'nothing is passed over')
  assert.equal(later.stoppedAt, undefined)
})

test('a message is stored whatever it says, and found by the beginning of what it says', async () => {
  const unique = Array.from({ length: 40_000 }, (_, n) => `w${n.toString(36)}`).join(' ')
  for (const [id, text] of [
    ['unique', `first ${unique}`],
    ['wide', `first ${'𠜎'.repeat(100_000)}`],
    ['letters', `first ${'a b c d '.repeat(30_000)}`],
    ['one word', `first ${'x'.repeat(3_000_000)}`],
    ['marks', `first ${"'\\:&|!<>() ".repeat(10_000)}`],
  ] as const)
    await say(`long-${id.replace(' ', '-')}`, [user(text)])
  assert.equal((await found('first')).length, 5)
  assert.deepEqual(await found('w1 w2'), ['long-unique'])
})

test('messages of before are given their words by the worker, once, and none that are being erased', async () => {
  const { db } = world.store
  for (let n = 0; n < 7; n++)
    await say(`early-${n}`, [user('Stollen'), { role: 'assistant', content: 'Stollen again' }])
  await sql`delete from message_words where conversation_id like 'early-%'`.execute(db)
  assert.deepEqual(await found('stollen'), [])
  let place: { projectId: string; id: string } | undefined
  let added = 0
  do {
    const step = await addMissingWords(db, place, 3)
    place = step.reached
    added += step.added
  } while (place)
  assert.equal(added, 14)
  assert.equal((await found('stollen')).length, 14)
  assert.equal((await addMissingWords(db, undefined, 1_000)).added, 0)
})

const MANY = 4_000
const AT_ONCE = 500
/** How far apart: they are in 31 blocks, 131 of them in each. */
const APART = 250

test('a search reads what it shows and a row for each block, however many messages there are and whoever else has the word', async () => {
  const mine = await newProject(owner, 'Large', 'large.example.com')
  const others = await newProject(owner, 'Larger', 'larger.example.com')
  for (const [n, id] of [mine, others].entries()) {
    const { db } = world.store
    await sql`insert into conversations (project_id, id) values (${id}, 'all')`.execute(db)
    for (let from = 1; from <= MANY; from += AT_ONCE)
      await sql`insert into messages (seq, project_id, conversation_id, digest, occurrence, role, content, call_id, content_expires_at)
        overriding system value
        select 1000000 + m * ${APART}::int + ${n}::int, ${id}, 'all', decode(md5(m::text), 'hex'), 1, 'user',
          json_build_object('content', 'said ' || case when m = 7 or ${n} = 1 then 'needle' else 'hay' end || ' number ' || m),
          gen_random_uuid(), now() + interval '1 day'
        from generate_series(${from}::int, ${from + AT_ONCE - 1}::int) m`.execute(db)
  }
  await sql`vacuum analyze message_words`.execute(world.store.db)
  const read = (sought: string[], unwanted: string[] = []) =>
    inTransaction(world.store.db, async (tx) => {
      const search = { text: { sought, unwanted }, before: undefined, most: 20, budgetMs: 20_000 }
      const earlier = await rowsRead(tx)
      const { messages } = await searchMessages(tx, mine, search)
      return { found: messages.length, rows: (await rowsRead(tx)) - earlier }
    })
  const rare = await read(['needle'])
  assert.equal(rare.found, 1)
  assert.ok(rare.rows < 100, `${rare.rows} rows for a word that was said once`)
  const none = await read(['nothing', 'said'])
  assert.deepEqual([none.found, none.rows < 100], [0, true], `${none.rows} rows for a word that was never said`)
  const common = await read(['said'])
  assert.equal(common.found, 20)
  assert.ok(common.rows < 300, `${common.rows} rows for a word that was always said`)
  const last = await read([`number ${MANY}`])
  assert.deepEqual([last.found, last.rows < 100], [1, true], `${last.rows} rows for a phrase`)
})

/** By this connection, since it last told the server. */
async function rowsRead(tx: Db): Promise<number> {
  const { rows } = await sql<{ rows: number }>`select (seq_tup_read + idx_tup_fetch)::int as rows
    from pg_stat_xact_user_tables where relname = 'message_words'`.execute(tx)
  return rows[0]?.rows ?? 0
}
