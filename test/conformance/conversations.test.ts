/** The contract's rules for conversations. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { deleteConversation, listConversations, listMessages } from '../../src/store/calls/conversations.ts'
import { updateProject } from '../../src/store/projects/projects.ts'
import { addProject, chatBody, createWorld, until, type TestProject } from '../support/world.ts'
import { clause } from './clause.ts'
import { ask, refused, stream, upstreamBody } from './client.ts'

const world = await createWorld()
after(() => world.close())

const REPLY = 'Good morning'
const user = (text: string) => ({ role: 'user', content: `${text} [[sim text=Good%20morning]]` })
const assistant = { role: 'assistant', content: REPLY }
const system = { role: 'system', content: 'Be brief.' }

async function talk(project: TestProject, id: string, messages: object[]): Promise<void> {
  const { status, text } = await ask(world, { model: 'sim-small', messages }, inConversation(project, id))
  assert.equal(status, 200, text)
}

function inConversation(project: TestProject, id: string) {
  return { project, headers: { 'x-conversation-id': id } }
}

/** Returns the stored messages, once there are `count`: they are recorded after the answer. */
async function messagesOf(project: TestProject, id: string, count: number) {
  const read = () => listMessages(world.store.db, { projectId: project.id, id }, 100)
  await until(async () => (await read()).length >= count)
  return (await read()).map(({ role, content }) => ({ role, ...(content as object | null) }))
}

async function callsOf(project: TestProject, id: string): Promise<number | undefined> {
  const all = await listConversations(world.store.db, project.id, 100)
  return all.find((conversation) => conversation.id === id)?.calls
}

clause('conversations-callers-id', async () => {
  const project = await addProject(world.store, world.secrets)
  for (const id of ['mine', '7f1c0c5e-6a52-4b7e-9d0b-0a2f6f4a1b11', 'A.b_c:d-0']) {
    await talk(project, id, [user('Hello')])
    await until(async () => (await callsOf(project, id)) === 1)
  }
})

clause('conversations-scoped', async () => {
  const [one, two] = [await addProject(world.store, world.secrets), await addProject(world.store, world.secrets)]
  await talk(one, 'shared', [user('I am one.')])
  await talk(two, 'shared', [user('I am two.')])
  assert.deepEqual(await messagesOf(one, 'shared', 2), [user('I am one.'), assistant])
  assert.deepEqual(await messagesOf(two, 'shared', 2), [user('I am two.'), assistant])
  await deleteConversation(world.store.db, { projectId: one.id, id: 'shared' })
  await talk(two, 'shared', [user('I am still here.')])
})

clause('conversations-scoped', 'also of one publisher', async () => {
  const one = await addProject(world.store, world.secrets)
  const two = await addProject(world.store, world.secrets)
  await world.store.db.updateTable('projects').set({ publisher_id: one.publisherId }).where('id', '=', two.id).execute()
  await talk(one, 'shared', [user('I am one.')])
  await talk(two, 'shared', [user('I am two.')])
  assert.deepEqual(await messagesOf(two, 'shared', 2), [user('I am two.'), assistant])
})

clause('conversations-first-use', async () => {
  const project = await addProject(world.store, world.secrets)
  assert.equal(await callsOf(project, 'new'), undefined)
  await talk(project, 'new', [user('Hello')])
  await until(async () => (await callsOf(project, 'new')) === 1)
})

clause('conversations-whole-context', async () => {
  await talk(world.project, 'context', [user('My name is Ada.')])
  await messagesOf(world.project, 'context', 2)
  await talk(world.project, 'context', [user('Who am I?')])
  assert.deepEqual(upstreamBody(world).messages, [user('Who am I?')])
})

clause('conversations-stored', async () => {
  await talk(world.project, 'stored', [system, user('Hello')])
  assert.deepEqual(await messagesOf(world.project, 'stored', 3), [system, user('Hello'), assistant])
})

clause('conversations-stored', 'also what was streamed', async () => {
  const body = { model: 'sim-small', messages: [user('Hello')] }
  const { status } = await stream(world, body, inConversation(world.project, 'streamed'))
  assert.equal(status, 200)
  assert.deepEqual(await messagesOf(world.project, 'streamed', 2), [user('Hello'), assistant])
})

clause('conversations-only-new', async () => {
  const first = [system, user('Hello')]
  const second = [...first, assistant, user('And now?')]
  const third = [...second, assistant, user('Bye.')]
  for (const messages of [first, second, third]) {
    await talk(world.project, 'growing', messages)
    await messagesOf(world.project, 'growing', messages.length + 1)
  }
  assert.deepEqual(await messagesOf(world.project, 'growing', 7), [...third, assistant])
})

clause('conversations-only-new', 'also when the same request is sent again', async () => {
  for (let calls = 1; calls <= 3; calls++) {
    await talk(world.project, 'repeated', [user('Hello')])
    await until(async () => (await callsOf(world.project, 'repeated')) === calls)
  }
  assert.deepEqual(await messagesOf(world.project, 'repeated', 2), [user('Hello'), assistant])
})

clause('conversations-only-new', 'but a message that is said twice is two messages', async () => {
  await talk(world.project, 'twice', [user('Yes.'), assistant, user('Yes.')])
  assert.equal((await messagesOf(world.project, 'twice', 4)).length, 4)
})

clause('conversations-only-new', 'also when a client sends only what is new', async () => {
  const one = { role: 'user', content: 'One. [[sim text=First]]' }
  const two = { role: 'user', content: 'Two. [[sim text=Second]]' }
  await talk(world.project, 'slim', [one])
  await messagesOf(world.project, 'slim', 2)
  await talk(world.project, 'slim', [two])
  const replies = ['First', 'Second'].map((content) => ({ role: 'assistant', content }))
  assert.deepEqual(await messagesOf(world.project, 'slim', 4), [one, replies[0], two, replies[1]])
})

clause('conversations-delete-erases', async () => {
  await talk(world.project, 'erased', [user('Forget me.')])
  await messagesOf(world.project, 'erased', 2)
  const key = { projectId: world.project.id, id: 'erased' }
  assert.equal(await deleteConversation(world.store.db, key), true)
  assert.deepEqual(await listMessages(world.store.db, key, 100), [])
  assert.equal(await callsOf(world.project, 'erased'), undefined)
})

clause('conversations-delete-erases', 'also what a call in flight would have added', async () => {
  const key = { projectId: world.project.id, id: 'in-flight' }
  await talk(world.project, key.id, [user('First.')])
  await messagesOf(world.project, key.id, 2)
  const body = chatBody('tokens=20 gap=20')
  const running = stream(world, body, inConversation(world.project, key.id))
  await until(() => world.simulator.openCalls() === 1)
  await deleteConversation(world.store.db, key)
  assert.equal((await running).events.at(-1), '[DONE]')
  await ask(world, body)
  assert.deepEqual(await listMessages(world.store.db, key, 100), [])
})

clause('conversations-delete-404', async () => {
  await talk(world.project, 'gone', [user('Hello')])
  await until(() => deleteConversation(world.store.db, { projectId: world.project.id, id: 'gone' }))
  const body = { model: 'sim-small', messages: [user('Hello')] }
  const calls = world.simulator.calls.length
  for (let n = 0; n < 3; n++) {
    assert.equal((await refused(world, body, inConversation(world.project, 'gone'))).status, 404)
  }
  assert.equal(world.simulator.calls.length, calls)
})

clause('conversations-no-text', async () => {
  const project = await addProject(world.store, world.secrets)
  await updateProject(world.store.db, project.id, { content_retention_days: 0 })
  await talk(project, 'silent', [user('A secret.')])
  assert.deepEqual(await messagesOf(project, 'silent', 2), [{ role: 'user' }, { role: 'assistant' }])
})
