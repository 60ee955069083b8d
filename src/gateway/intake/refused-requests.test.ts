import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from '../../metrics.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import type { RefusedRequest } from '../../rules/refused-requests.ts'
import type { Db } from '../../store/database.ts'
import { createRefusedRequests, type NewRefusal } from './refused-requests.ts'

const NO_DATABASE = undefined as unknown as Db
/** The first moment of a minute. */
const START_MS = Math.ceil(Date.now() / 60_000) * 60_000

function open(isBroken = () => false) {
  const written: RefusedRequest[][] = []
  const metrics = createMetrics()
  const refused = createRefusedRequests({
    db: NO_DATABASE,
    metrics,
    statement(_db, rows) {
      if (isBroken()) return Promise.reject(new Error('the store is away'))
      written.push(structuredClone([...rows]))
      return Promise.resolve()
    },
  })
  const note = (more: Partial<NewRefusal> & { atMs?: number } = {}) => {
    const { atMs = 0, ...rest } = more
    const at = new Date(START_MS + atMs)
    refused.note({
      id: uuidv7(at.getTime()),
      projectId: 'project',
      keyPairId: 'pair',
      viaSession: false,
      status: 422,
      code: 'invalid_value',
      message: 'temperature must be at most 2.',
      param: 'temperature',
      endpoint: 'POST /v1/chat/completions',
      model: 'small',
      at,
      ...rest,
    })
  }
  const droppedFor = async (why: string) => {
    const { values } = await metrics.refusedDropped.get()
    return values.find(({ labels }) => labels.why === why)?.value ?? 0
  }
  const noted = async () => (await metrics.refusedNoted.get()).values[0]?.value ?? 0
  return { written, note, write: () => refused.write(), droppedFor, noted }
}

const timesOf = (rows: RefusedRequest[]) => rows.reduce((sum, { times }) => sum + times, 0)

test('a few refusals have a row each, with what was said and when', async () => {
  const { written, note, write } = open()
  note({ id: 'one' })
  note({ id: 'two', code: 'keys_invalid', status: 401, param: null, model: null })
  await write()
  await write()
  assert.equal(written.length, 1)
  assert.deepEqual(
    written[0]?.map(({ id, code, param, times, lastAt }) => [id, code, param, times, lastAt.getTime()]),
    [
      ['one', 'invalid_value', 'temperature', 1, START_MS],
      ['two', 'keys_invalid', null, 1, START_MS],
    ],
  )
})

test('a flood of 100,000 costs ten rows a minute, and every one is counted', async () => {
  const { written, note, write, noted } = open()
  for (let n = 0; n < 100_000; n++) note({ message: `about ${n % 7}`, atMs: Math.floor(n / 50_000) * 60_000 })
  await write()
  assert.equal(written.flat().length, 20)
  assert.equal(timesOf(written.flat()), 100_000)
  assert.equal(await noted(), 100_000)
})

test('beyond the rows of a minute, one is counted with a row that says the same', async () => {
  const { written, note, write } = open()
  for (let n = 0; n < 10; n++) note({ id: `row ${n}`, param: `field_${n}` })
  for (let n = 0; n < 5; n++) note({ param: 'field_3', atMs: 100 })
  note({ param: 'another', atMs: 200 })
  await write()
  const rows = new Map(written[0]?.map((row) => [row.id, row]))
  assert.equal(rows.size, 10)
  assert.equal(rows.get('row 3')?.times, 6)
  assert.equal(rows.get('row 3')?.lastAt.getTime(), START_MS + 100)
  assert.equal(rows.get('row 9')?.times, 2)
})

test('what comes after a write is added to the rows of its minute, and to nothing else', async () => {
  const { written, note, write } = open()
  for (let n = 0; n < 10; n++) note({ id: `row ${n}` })
  await write()
  note({ atMs: 1_000 })
  note({ atMs: 2_000 })
  await write()
  assert.deepEqual(
    written[1]?.map(({ id, times, lastAt }) => [id, times, lastAt.getTime()]),
    [['row 0', 2, START_MS + 2_000]],
  )
  note({ id: 'next minute', atMs: 60_000 })
  await write()
  assert.deepEqual(
    written[2]?.map(({ id, times }) => [id, times]),
    [['next minute', 1]],
  )
})

test('who floods with one key, one code or a browser session hides nothing of the others', async () => {
  const { written, note, write } = open()
  for (let pair = 0; pair < 6; pair++) for (let n = 0; n < 1_000; n++) note({ keyPairId: `flood ${pair}` })
  for (let n = 0; n < 1_000; n++) note({ viaSession: true })
  note({ id: 'own', param: 'mine' })
  note({ id: 'other code', code: 'model_not_found' })
  note({ id: 'other project', projectId: 'other' })
  await write()
  const ids = written.flat().map(({ id }) => id)
  assert.ok(['own', 'other code', 'other project'].every((id) => ids.includes(id)))
  assert.ok(ids.length < 60, `${ids.length} rows`)
})

test('while the store is away they are given up, counted, and do not pile up', async () => {
  const store = { isBroken: true }
  const { written, note, write, droppedFor, noted } = open(() => store.isBroken)
  for (let n = 0; n < 30; n++) note()
  await assert.rejects(write(), /the store is away/)
  assert.equal(await droppedFor('store'), 30)
  store.isBroken = false
  note({ id: 'afterwards', atMs: 60_000 })
  await write()
  assert.deepEqual(
    written.flat().map(({ id, times }) => [id, times]),
    [['afterwards', 1]],
  )
  assert.equal(await noted(), 1)
})

test('there is an end to what is kept in memory, and what has no room is counted', async () => {
  const { written, note, write, droppedFor } = open()
  for (let n = 0; n < 6_000; n++) note({ projectId: `project ${n}` })
  note({ projectId: 'project 7' })
  assert.equal(await droppedFor('full'), 1_000)
  await write()
  assert.equal(written.flat().length, 5_001)
  assert.ok(written.every((rows) => rows.length <= 500))
})
