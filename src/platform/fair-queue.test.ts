import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFairQueue, QueueFull } from './fair-queue.ts'

/** For what is about one key alone. */
const ONE = { runningEachMax: Infinity }

test('so many run at a time, so many wait, and one more is refused at once', async () => {
  const queue = createFairQueue({ runningMax: 2, waitingMax: 3, ...ONE })
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
  const taken = ['a', 'b', 'c', 'd', 'e'].map((key) => queue.run(key, 1_000, work))
  await assert.rejects(queue.run('f', 1_000, work), QueueFull)
  assert.equal(queue.waiting, 3)
  gate.resolve()
  assert.deepEqual(await Promise.all(taken), Array<string>(5).fill('done'))
  assert.equal(most, 2)
  await queue.idle()
})

test('what is late when its turn comes is not begun, and waits no longer', async () => {
  const queue = createFairQueue({ runningMax: 1, waitingMax: 5, ...ONE })
  const first = queue.run('a', 1_000, () => sleep(200))
  let hasBegun = false
  const late = queue.run('a', 5, async () => {
    hasBegun = true
  })
  assert.equal(queue.waiting, 1)
  assert.equal(await late, 'late')
  assert.equal(queue.waiting, 0, 'its place in line is free before the first has ended')
  await first
  assert.equal(hasBegun, false)
})

test('work that fails leaves its place to the next', async () => {
  const queue = createFairQueue({ runningMax: 1, waitingMax: 5, ...ONE })
  const failed = queue.run('a', 1_000, () => Promise.reject(new Error('no')))
  const next = queue.run('a', 1_000, () => Promise.resolve('yes'))
  await assert.rejects(failed, /no/)
  assert.equal(await next, 'yes')
})

test('a turn that was handed over is not taken by who comes meanwhile', async () => {
  const queue = createFairQueue({ runningMax: 1, waitingMax: 100, ...ONE })
  let running = 0
  const work = async () => {
    assert.equal((running += 1), 1)
    await sleep(1)
    running -= 1
  }
  const gate = Promise.withResolvers<void>()
  const all: Promise<unknown>[] = [queue.run('a', 1_000, () => gate.promise), queue.run('a', 1_000, work)]
  gate.resolve()
  // One comes in each of the next steps, and so one between the handing over and whom it is for.
  for (let n = 0; n < 8; n++) {
    all.push(queue.run('a', 1_000, work))
    await Promise.resolve()
  }
  await Promise.all(all)
})

test('whoever floods it has a share of what runs, and takes turns with everybody else', async () => {
  const queue = createFairQueue({ runningMax: 3, runningEachMax: 2, waitingMax: 64 })
  const gate = Promise.withResolvers<void>()
  const order: string[] = []
  const ask = (key: string) =>
    queue.run(key, 1_000, async () => {
      order.push(key)
      await gate.promise
    })
  const flood = Array.from({ length: 20 }, () => ask('flood'))
  assert.ok(queue.isAtLimit('flood') && !queue.isAtLimit('quiet'))
  const quiet = [ask('quiet'), ask('quiet'), ask('other')]
  assert.deepEqual(order, ['flood', 'flood', 'quiet'], 'one place is left for others')
  gate.resolve()
  await Promise.all([...flood, ...quiet])
  assert.deepEqual(order.slice(3, 7).toSorted(), ['flood', 'flood', 'other', 'quiet'])
  assert.equal(order.length, 23)
})

test('those who wait take turns, one each', async () => {
  const queue = createFairQueue({ runningMax: 1, waitingMax: 64, ...ONE })
  const order: string[] = []
  const keys = ['a', 'a', 'a', 'a', 'b', 'b', 'c']
  await Promise.all(keys.map((key) => queue.run(key, 1_000, async () => void order.push(key))))
  assert.equal(order.join(''), 'abcabaa')
})

test('nobody has more in line than there is room left: one who floods leaves half of it, two leave a third', async () => {
  for (const floods of [1, 2]) {
    const queue = createFairQueue({ runningMax: 1, waitingMax: 60, ...ONE })
    const gate = Promise.withResolvers<void>()
    const all = [queue.run('first', 10_000, () => gate.promise)]
    let refused = 0
    for (let n = 0; n < 100; n++) {
      for (let key = 0; key < floods; key++)
        all.push(queue.run(`flood ${key}`, 10_000, () => gate.promise).catch(() => void (refused += 1)))
    }
    assert.equal(queue.waiting, 60 - 60 / (floods + 1))
    all.push(queue.run('quiet', 10_000, () => gate.promise))
    gate.resolve()
    await Promise.all(all)
    assert.equal(refused, 100 * floods - (60 - 60 / (floods + 1)))
    await queue.idle()
  }
})

test('a line of its own has its own end', async () => {
  const queue = createFairQueue({ runningMax: 9, runningEachMax: 1, waitingMax: 60, waitingEachMax: 2 })
  const gate = Promise.withResolvers<void>()
  const taken = [1, 2, 3].map(() => queue.run('a', 1_000, () => gate.promise))
  await assert.rejects(
    queue.run('a', 1_000, () => gate.promise),
    QueueFull,
  )
  gate.resolve()
  await Promise.all(taken)
})
