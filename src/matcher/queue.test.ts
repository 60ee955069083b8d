import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createQueue, QueueFull } from './queue.ts'

test('so many run at a time, so many wait, and one more is refused at once', async () => {
  const queue = createQueue({ runningMax: 2, waitingMax: 2 })
  const gate = Promise.withResolvers<void>()
  let running = 0
  let most = 0
  const work = async () => {
    running += 1
    most = Math.max(most, running)
    await gate.promise
    running -= 1
    return 'done'
  }
  const taken = [1, 2, 3, 4].map(() => queue.run(1_000, work))
  await assert.rejects(queue.run(1_000, work), QueueFull)
  assert.equal(queue.waiting, 2)
  gate.resolve()
  assert.deepEqual(await Promise.all(taken), ['done', 'done', 'done', 'done'])
  assert.equal(most, 2)
  await queue.idle()
})

test('what is late when its turn comes is not begun', async () => {
  const queue = createQueue({ runningMax: 1, waitingMax: 5 })
  const first = queue.run(1_000, () => sleep(30))
  let hasBegun = false
  const late = queue.run(5, async () => {
    hasBegun = true
  })
  assert.equal(await late, 'late')
  assert.equal(hasBegun, false)
  await first
})

test('work that fails leaves its place to the next', async () => {
  const queue = createQueue({ runningMax: 1, waitingMax: 5 })
  const failed = queue.run(1_000, () => Promise.reject(new Error('no')))
  const next = queue.run(1_000, () => Promise.resolve('yes'))
  await assert.rejects(failed, /no/)
  assert.equal(await next, 'yes')
})

test('a turn that was handed over is not taken by who comes meanwhile', async () => {
  const queue = createQueue({ runningMax: 1, waitingMax: 10 })
  let running = 0
  const work = async () => {
    assert.equal((running += 1), 1)
    await sleep(1)
    running -= 1
  }
  const gate = Promise.withResolvers<void>()
  const all: Promise<unknown>[] = [queue.run(1_000, () => gate.promise), queue.run(1_000, work)]
  gate.resolve()
  // One comes in each of the next steps, and so one between the handing over and whom it is for.
  for (let n = 0; n < 8; n++) {
    all.push(queue.run(1_000, work))
    await Promise.resolve()
  }
  await Promise.all(all)
})
