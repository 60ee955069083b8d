import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextRound } from 'node:timers/promises'
import { createTurns } from './turns.ts'

test('in each round of the event loop one step is done, by turns', async () => {
  const nextTurn = createTurns()
  const steps: string[] = []
  const rounds: number[] = []
  const work = async (name: string, times: number) => {
    for (let n = 0; n < times; n++) {
      await nextTurn()
      steps.push(name)
    }
  }
  const all = Promise.all([work('a', 3), work('b', 2), work('c', 1)])
  while (steps.length < 6) {
    rounds.push(steps.length)
    await nextRound()
  }
  await all
  assert.deepEqual(steps, ['a', 'b', 'c', 'a', 'b', 'a'])
  for (const [n, done] of rounds.entries()) assert.ok(done <= n + 1, `${done} steps after ${n} rounds`)
})

test('who asks after a time without any is not forgotten', async () => {
  const nextTurn = createTurns()
  await nextTurn()
  await nextRound()
  await nextTurn()
})

test('several steps may share a round, and no more than were said', async () => {
  const nextTurn = createTurns(3)
  let done = 0
  const all = Promise.all(Array.from({ length: 8 }, () => nextTurn().then(() => (done += 1))))
  const seen: number[] = []
  while (done < 8) {
    await nextRound()
    seen.push(done)
  }
  await all
  assert.deepEqual(
    seen.filter((count, n) => count !== seen[n - 1] && count > 0),
    [3, 6, 8],
  )
})
