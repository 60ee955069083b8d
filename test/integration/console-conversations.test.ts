import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { Message } from '../../src/rules/calls/message.ts'
import { numberOccurrences } from '../../src/rules/calls/conversations.ts'
import { recordTurn } from '../../src/store/calls/conversations.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld, type Person } from '../support/console.ts'
import { addKeyPair, chatBody, complete, credit, rollUp, until } from '../support/world.ts'

const DOLLAR = 1_000_000_000n
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

function say(
  id: string,
  messages: unknown[],
  options: { retentionDays?: number; projectId?: string } = {},
): Promise<unknown> {
  return recordTurn(world.store.db, {
    conversation: { projectId: options.projectId ?? project, id },
    callId: uuidv7(),
    messages: numberOccurrences(messages as Message[], DIGEST_KEY),
    retentionDays: options.retentionDays ?? 30,
  })
}

const get = (path: string, person = owner) => person.send(`GET /api/projects/${project}/conversations${path}`)

test('conversations are listed by last activity, with the first line of the user as the title', async () => {
  await say('old', [{ role: 'user', content: 'An old one' }])
  await say('parts', [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        { type: 'text', text: '\n  Look\u202e at this\nplease' },
      ],
    },
  ])
  await say('silent', [{ role: 'user', content: 'Nobody keeps this' }], { retentionDays: 0 })
  const { body } = await must(get(''))
  assert.deepEqual(
    body.items.map(({ id, title, messages }: Record<string, unknown>) => [id, title, messages]),
    [
      ['silent', null, 1],
      ['parts', 'Look at this', 2],
      ['old', 'An old one', 1],
    ],
  )
  const pages: string[] = []
  for (let next: string | null = ''; next !== null;) {
    const page: { body: { items: { id: string }[]; next: string | null } } = await must(
      get(`?limit=1${next && `&after=${next}`}`),
    )
    pages.push(...page.body.items.map(({ id }) => id))
    next = page.body.next
  }
  assert.deepEqual(pages, ['silent', 'parts', 'old'])
  const found = await must(get('?id=ART'))
  assert.deepEqual(
    found.body.items.map(({ id }: { id: string }) => id),
    ['parts'],
  )
  assert.equal((await get('?after=nonsense')).status, 422)
})

test('what its calls cost stands beside a conversation and beside each of its turns', async () => {
  const mine = await newProject(owner, 'Paid', 'paid.example.com')
  await setDomainVerified(world.store.db, mine, new Date())
  await credit(world.store, mine, DOLLAR)
  const keys = await addKeyPair(world.store, world.secrets, mine)
  const caller = { ...world, project: { ...keys, id: mine, publisherId: owner.publisherId } }
  const headers = { 'x-conversation-id': 'talk' }
  for (const script of ['tokens=5 cached=2 reasoning=30', 'tokens=7']) {
    const response = await complete(caller, chatBody(script), { headers })
    assert.equal(response.status, 200, await response.text())
  }
  await rollUp(world.store)
  const path = `GET /api/projects/${mine}/conversations`
  await until(async () => (await must(owner.send(`${path}/talk`))).body.calls === 2)
  const { body } = await must(owner.send(`${path}/talk`))
  const spent = await world.store.db
    .selectFrom('charges')
    .select(['charged_nanos', 'input_tokens', 'cached_input_tokens', 'output_tokens', 'reasoning_tokens'])
    .where('project_id', '=', mine)
    .orderBy('id')
    .execute()
  assert.deepEqual(
    spent.map((row) => [row.cached_input_tokens, row.output_tokens, row.reasoning_tokens]),
    [
      [2, 5, 30],
      [0, 7, 0],
    ],
  )
  assert.equal(body.chargedNanos, String(spent.reduce((sum, row) => sum + row.charged_nanos, 0n)))
  assert.equal(body.outputTokens, '42')
  const { body: said } = await must(owner.send(`${path}/talk/messages`))
  const replies = said.items.filter(({ role }: { role: string }) => role === 'assistant')
  assert.deepEqual(
    replies.map(({ call }: { call: Record<string, unknown> }) => [
      call.model,
      call.inputTokens,
      call.outputTokens,
      call.chargedNanos,
    ]),
    spent.map((row) => [
      'sim-small',
      row.input_tokens + row.cached_input_tokens,
      row.output_tokens + row.reasoning_tokens,
      String(row.charged_nanos),
    ]),
  )
})

test('the viewer gets readable messages: no image, tool calls apart, and whether the text is still there', async () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Ghent"}' } }
  await say('tools', [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Rain?' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(5_000)}` } },
      ],
    },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: 'Dry.' },
    { role: 'assistant', content: 'It is **dry**.' },
  ])
  const { body, text } = await must(get('/tools/messages'))
  assert.ok(!text.includes('AAAA'), 'the bytes of an image do not travel')
  assert.deepEqual(body.items[0].parts, [
    { kind: 'text', text: 'Rain?' },
    { kind: 'image', address: 'data:image/png (4 KB)' },
  ])
  assert.deepEqual(body.items[1].toolCalls, [{ id: 'call_1', name: 'weather', arguments: '{"city":"Ghent"}' }])
  assert.equal(body.items[2].toolCallId, 'call_1')
  assert.deepEqual(
    body.items.map((message: { text: string }) => message.text),
    ['kept', 'kept', 'kept', 'kept'],
  )
  const first = await must(get('/tools/messages?limit=2'))
  const second = await must(get(`/tools/messages?limit=2&after=${first.body.next}`))
  assert.deepEqual([...first.body.items, ...second.body.items], body.items)
  await say('kept-nothing', [{ role: 'user', content: 'x' }], { retentionDays: 0 })
  assert.equal((await must(get('/kept-nothing/messages'))).body.items[0].text, 'not_kept')
})

test('a conversation can be taken along as JSON and as Markdown', async () => {
  await say('export', [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello ```there```' },
  ])
  const json = await must(get('/export/conversation.json'))
  assert.match(String(json.headers.get('content-disposition')), /attachment; filename="conversation\.json"/)
  assert.deepEqual(
    JSON.parse(json.text).messages.map(({ role, content }: { role: string; content: string }) => [role, content]),
    [
      ['user', 'Hi'],
      ['assistant', 'Hello ```there```'],
    ],
  )
  const markdown = await must(get('/export/conversation.md'))
  assert.match(String(markdown.headers.get('content-type')), /^text\/markdown/)
  assert.match(markdown.text, /^# Conversation export\n\n## User\n[\s\S]+\nHi\n\n## Assistant/)
})

test('a deleted conversation is gone from every answer, its id is refused, and the log says who did it', async () => {
  await say('bye', [{ role: 'user', content: 'Forget me' }])
  await must(owner.send(`DELETE /api/projects/${project}/conversations/bye`))
  for (const path of ['/bye', '/bye/messages', '/bye/conversation.json', '/bye/conversation.md'])
    assert.equal((await get(path)).status, 404, path)
  assert.equal((await owner.send(`DELETE /api/projects/${project}/conversations/bye`)).status, 404)
  assert.ok(!(await must(get(''))).text.includes('"bye"'))
  const { body } = await must(
    owner.send(`GET /api/publishers/${owner.publisherId}/audit-log?action=conversation.deleted`),
  )
  assert.equal(body.items[0].subject, 'bye')
})

test('a viewer reads and may not delete; a stranger learns nothing', async () => {
  await say('mine', [{ role: 'user', content: 'Secret' }])
  const viewer = await newPerson(world)
  const user = await world.store.db
    .selectFrom('users')
    .select('id')
    .where('email', '=', viewer.email)
    .executeTakeFirstOrThrow()
  await world.store.db
    .insertInto('memberships')
    .values({ publisher_id: owner.publisherId, user_id: user.id, role: 'viewer' })
    .execute()
  await must(get('/mine', viewer))
  assert.equal((await viewer.send(`DELETE /api/projects/${project}/conversations/mine`)).status, 403)
  const stranger = await newPerson(world)
  const theirs = await newProject(stranger, 'Theirs', 'theirs.example.com')
  assert.equal((await get('/mine', stranger)).status, 404)
  assert.equal((await stranger.send(`GET /api/projects/${theirs}/conversations/mine`)).status, 404)
})
