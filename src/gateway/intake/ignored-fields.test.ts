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
