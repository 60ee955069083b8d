import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWork } from './work.ts'

/** A thread whose work is what it is told to be, and a clock that stands still unless it is moved. */
function createThread(accountPercent = 20) {
  const at = { nowMs: 0, workedMs: 0 }
  const rests: { ms: number; end(): void }[] = []
  const work = createWork({
    accountPercent,
    now: () => at.nowMs,
    workedMs: () => at.workedMs,
    restFor: (ms, end) => rests.push({ ms, end }),
  })
  return { at, rests, work }
}

/** Lets everything go on that can. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 20))

test('a project may cause its part of the time for ten seconds at once, also by requests that are refused, and then waits', () => {
  const { at, work } = createThread()
  const cause = (who: string, ms: number) => work.run(who, () => void (at.workedMs += ms))
  for (let n = 0; n < 20; n++) {
    assert.equal(work.waitOf('a'), 0)
    cause('a', 100)
  }
  assert.throws(() =>
    work.run('a', () => {
      at.workedMs += 100
      throw new Error('422')
    }),
  )
  assert.equal(work.waitOf('a'), 500)
  assert.equal(work.waitOf('b'), 0)
  at.nowMs += 500
  assert.equal(work.waitOf('a'), 0)
})

test('what others do between two steps is not counted as work of this one', async () => {
  const { at, work } = createThread()
  const others = setInterval(() => (at.workedMs += 1_000), 1)
  await work.runInTurn('a', async (giveWay) => {
    for (let n = 0; n < 5; n++) {
      at.workedMs += 10
      await giveWay()
    }
  })
  clearInterval(others)
  assert.equal(work.waitOf('a'), 0)
})

test('long work is done one at a time, and project after project, however many one of them has waiting', async () => {
  const { rests, work } = createThread()
  const order: string[] = []
  for (const who of ['a', 'a', 'a', 'a', 'b', 'c', 'b'])
    void work.runInTurn(who, () => Promise.resolve(void order.push(who)))
  await settle()
  assert.deepEqual(order, ['a'])
  while (rests.length > 0) {
    rests.shift()?.end()
    await settle()
  }
  assert.deepEqual(order, ['a', 'a', 'b', 'c', 'a', 'b', 'a'])
})

test('after long work the process rests from it for as long as it took, and small work goes on', async () => {
  const { at, rests, work } = createThread()
  await work.runInTurn('a', async (giveWay) => {
    at.workedMs += 30
    await giveWay()
    at.workedMs += 12
  })
  assert.deepEqual(
    rests.map(({ ms }) => ms),
    [42],
  )
  let isDone = false
  void work.runInTurn('b', () => Promise.resolve(void (isDone = true)))
  await settle()
  assert.equal(isDone, false)
  assert.equal(
    work.run('b', () => 7),
    7,
  )
  rests[0]?.end()
  await settle()
  assert.equal(isDone, true)
})

test('work that fails lets the next one begin', async () => {
  const { rests, work } = createThread()
  await assert.rejects(work.runInTurn('a', () => Promise.reject(new Error('400'))))
  rests[0]?.end()
  assert.equal(await work.runInTurn('a', () => Promise.resolve(1)), 1)
})
