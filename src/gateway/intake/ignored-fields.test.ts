import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IgnoredField } from '../../store/calls/ignored-fields.ts'
import type { Db } from '../../store/database.ts'
import type { Call } from '../call.ts'
import { createIgnoredFields } from './ignored-fields.ts'

const NO_DATABASE = undefined as unknown as Db

function open() {
  const written: IgnoredField[][] = []
  const fields = createIgnoredFields(NO_DATABASE, (_db, some) => Promise.resolve(void written.push([...some])))
  const note = (projectId: string, body: unknown, createdAt = new Date(0)) =>
    fields.note({ caller: { projectId }, createdAt, body } as unknown as Call)
  return { written, note, write: () => fields.write() }
}

test('what is counted between two writes is written once, with when it was last', async () => {
  const { written, note, write } = open()
  note('a', { model: 'm', top_k: 'secret' }, new Date(1))
  note('a', { top_k: 'secret', seeed: 1 }, new Date(2))
  note('b', { model: 'm' })
  await write()
  assert.deepEqual(written, [
    [
      { projectId: 'a', name: 'top_k', times: 2, lastAt: new Date(2) },
      { projectId: 'a', name: 'seeed', times: 1, lastAt: new Date(2) },
    ],
  ])
  await write()
  assert.equal(written.length, 1)
})

test('a gateway remembers fifty names of a project between two writes, and no more than two thousand projects', async () => {
  const { written, note, write } = open()
  for (let n = 0; n < 60; n++) note('busy', { [`name${n}`]: 1, name0: 1 })
  await write()
  assert.equal(written[0]?.length, 50)
  assert.equal(written[0]?.find(({ name }) => name === 'name0')?.times, 60)
  for (let n = 0; n < 2_100; n++) note(`project ${n}`, { x: 1 })
  note('project 7', { x: 1 })
  await write()
  const rest = written.slice(1)
  assert.equal(rest.flat().length, 2_000)
  assert.ok(rest.every((some) => some.length <= 1_000))
  assert.equal(rest.flat().find(({ projectId }) => projectId === 'project 7')?.times, 2)
})

/** Fails until it is mended. */
function openBroken() {
  const written: IgnoredField[][] = []
  const store = { isBroken: true, tries: 0 }
  const fields = createIgnoredFields(NO_DATABASE, (_db, some) => {
    store.tries += 1
    if (store.isBroken) return Promise.reject(new Error('the disk is full'))
    return Promise.resolve(void written.push([...some]))
  })
  const note = (projectId: string, body: unknown, createdAt = new Date(0)) =>
    fields.note({ caller: { projectId }, createdAt, body } as unknown as Call)
  return { written, store, note, write: () => fields.write() }
}

test('counts that could not be written are written next time, with what was counted meanwhile', async () => {
  const { written, store, note, write } = openBroken()
  note('a', { top_k: 1, seeed: 1 }, new Date(1))
  await assert.rejects(write(), /the disk is full/)
  note('a', { top_k: 1 }, new Date(3))
  await assert.rejects(write())
  note('b', { x: 1 }, new Date(4))
  store.isBroken = false
  await write()
  await write()
  assert.deepEqual(written, [
    [
      { projectId: 'a', name: 'top_k', times: 2, lastAt: new Date(3) },
      { projectId: 'a', name: 'seeed', times: 1, lastAt: new Date(1) },
      { projectId: 'b', name: 'x', times: 1, lastAt: new Date(4) },
    ],
  ])
})

test('a moment that is noted during a write that fails stays the last', async () => {
  const written: IgnoredField[][] = []
  const failing = Promise.withResolvers<void>()
  const answers = [failing.promise, Promise.resolve()]
  const fields = createIgnoredFields(NO_DATABASE, (_db, some) => {
    written.push([...some])
    return answers.shift() ?? Promise.resolve()
  })
  const note = (at: number) =>
    fields.note({ caller: { projectId: 'a' }, createdAt: new Date(at), body: { x: 1 } } as unknown as Call)
  note(1)
  const write = fields.write()
  note(5)
  failing.reject(new Error('lost'))
  await assert.rejects(write)
  await fields.write()
  assert.deepEqual(written[1], [{ projectId: 'a', name: 'x', times: 2, lastAt: new Date(5) }])
})

test('however long nothing can be written, no more is kept than between two writes, and a write that fails asks once', async () => {
  const { written, store, note, write } = openBroken()
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < 60; n++) note('busy', { [`round ${round} name ${n}`]: 1 })
    for (let n = 0; n < 1_500; n++) note(`round ${round} project ${n}`, { x: 1 })
    await assert.rejects(write())
  }
  assert.equal(store.tries, 3)
  store.isBroken = false
  await write()
  const rows = written.flat()
  assert.equal(rows.filter(({ projectId }) => projectId === 'busy').length, 50)
  assert.equal(new Set(rows.map(({ projectId }) => projectId)).size, 2_000)
})
