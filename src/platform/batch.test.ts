import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { LaneFull, LaneTimeout, createLane, type LaneOptions } from './batch.ts'

class Transient extends Error {}

const WAIT_MS = 5_000

type Run = LaneOptions<string, string>['run']

/** Every batch that was sent; `pass` lets the oldest one that still runs be answered. */
function createStore() {
  const batches: string[][] = []
  const waiting: (() => void)[] = []
  const run: Run = async (items) => {
    batches.push([...items])
    await new Promise<void>((resolve) => waiting.push(resolve))
    return items.map((item) => `${item}!`)
  }
  return { batches, run, pass: () => waiting.shift()?.() }
}

function laneOf(run: Run, options: Partial<LaneOptions<string, string>> = {}) {
  return createLane<string, string>({
    run,
    batchMax: 100,
    queueMax: 100,
    isTransient: (error) => error instanceof Transient,
    retryEveryMs: 5,
    ...options,
  })
}

function echo(items: readonly string[]): Promise<string[]> {
  return Promise.resolve(items.map((item) => `${item}!`))
}

test('each item gets its own answer', async () => {
  const lane = laneOf(echo)
  const answers = await Promise.all(['a', 'b', 'c'].map((item) => lane.submit(item, WAIT_MS)))
  assert.deepEqual(answers, ['a!', 'b!', 'c!'])
})

test('items of one turn share a batch, and what comes while it runs becomes the next, in order', async () => {
  const store = createStore()
  const lane = laneOf(store.run)
  const first = ['a', 'b'].map((item) => lane.submit(item, WAIT_MS))
  await turn()
  const second: Promise<string>[] = []
  for (const item of ['c', 'd', 'e']) {
    second.push(lane.submit(item, WAIT_MS))
    await turn()
  }
  assert.deepEqual(store.batches, [['a', 'b']], 'one batch at a time')
  assert.equal(lane.queued, 3)
  store.pass()
  assert.deepEqual(await Promise.all(first), ['a!', 'b!'])
  await turn()
  assert.deepEqual(store.batches, [
    ['a', 'b'],
    ['c', 'd', 'e'],
  ])
  store.pass()
  assert.deepEqual(await Promise.all(second), ['c!', 'd!', 'e!'])
})

test('an idle lane sends at once', async () => {
  const batches: string[][] = []
  const lane = laneOf((items) => {
    batches.push([...items])
    return echo(items)
  })
  for (const item of ['a', 'b', 'c']) assert.equal(await lane.submit(item, WAIT_MS), `${item}!`)
  assert.deepEqual(batches, [['a'], ['b'], ['c']])
})

test('no batch is larger than the limit, and none overtakes another', async () => {
  const batches: string[][] = []
  const lane = laneOf(
    (items) => {
      batches.push([...items])
      return echo(items)
    },
    { batchMax: 2 },
  )
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map((item) => lane.submit(item, WAIT_MS)))
  assert.deepEqual(batches, [['a', 'b'], ['c', 'd'], ['e']])
})

test('an error as an answer rejects that item alone', async () => {
  const refused = new Error('refused')
  const lane = laneOf((items) => Promise.resolve(items.map((item) => (item === 'bad' ? (refused as never) : item))))
  const results = await Promise.allSettled(['a', 'bad', 'c'].map((item) => lane.submit(item, WAIT_MS)))
  assert.deepEqual(results, [
    { status: 'fulfilled', value: 'a' },
    { status: 'rejected', reason: refused },
    { status: 'fulfilled', value: 'c' },
  ])
})

test('one bad item that fails its whole batch fails alone: its neighbours are sent again without it', async () => {
  const batches: string[][] = []
  const wrong = new Error('wrong')
  const lane = laneOf((items) => {
    batches.push([...items])
    if (items.includes('bad')) throw wrong
    return echo(items)
  })
  const results = await Promise.allSettled(['a', 'bad', 'c'].map((item) => lane.submit(item, WAIT_MS)))
  assert.deepEqual(results, [
    { status: 'fulfilled', value: 'a!' },
    { status: 'rejected', reason: wrong },
    { status: 'fulfilled', value: 'c!' },
  ])
  assert.deepEqual(batches, [['a', 'bad', 'c'], ['a', 'bad'], ['a'], ['bad'], ['c']])
  assert.equal(await lane.submit('d', WAIT_MS), 'd!', 'the lane goes on')
})

test('a bad item among many is found by halves, in few statements', async () => {
  let statements = 0
  const lane = laneOf(
    (items) => {
      statements += 1
      if (items.includes('bad')) throw new Error('wrong')
      return echo(items)
    },
    { batchMax: 256, queueMax: 256 },
  )
  const items = Array.from({ length: 256 }, (_, n) => (n === 100 ? 'bad' : `${n}`))
  const results = await Promise.allSettled(items.map((item) => lane.submit(item, WAIT_MS)))
  assert.equal(results.filter(({ status }) => status === 'rejected').length, 1)
  assert.equal(statements, 17)
})

test('an item whose deadline passes while its neighbours are tried one by one is not sent any more', async () => {
  const batches: string[][] = []
  const gate = Promise.withResolvers<void>()
  const lane = laneOf(async (items) => {
    batches.push([...items])
    if (items.length > 1) throw new Error('wrong')
    await gate.promise
    return echo(items)
  })
  const first = lane.submit('a', 60_000)
  await assert.rejects(lane.submit('b', 500), LaneTimeout)
  gate.resolve()
  assert.equal(await first, 'a!')
  await lane.idle()
  assert.deepEqual(batches, [['a', 'b'], ['a']])
})

test('after a passing failure the same items go again, first in line', async () => {
  const batches: string[][] = []
  let failures = 2
  const lane = laneOf(
    async (items) => {
      batches.push([...items])
      await turn()
      if (failures-- > 0) throw new Transient()
      return echo(items)
    },
    { batchMax: 2 },
  )
  const answers = ['a', 'b', 'c'].map((item) => lane.submit(item, WAIT_MS))
  await sleep(2)
  answers.push(lane.submit('d', WAIT_MS))
  assert.deepEqual(await Promise.all(answers), ['a!', 'b!', 'c!', 'd!'])
  assert.deepEqual(batches, [
    ['a', 'b'],
    ['a', 'b'],
    ['a', 'b'],
    ['c', 'd'],
  ])
})

test('each attempt that is put off is told, and each that is answered', async () => {
  const told: string[] = []
  let failures = 2
  const lane = laneOf(
    (items) => {
      if (failures-- > 0) throw new Transient('not now')
      return echo(items)
    },
    { onPutOff: (error) => told.push((error as Error).message), onAnswered: () => told.push('answered') },
  )
  await lane.submit('a', WAIT_MS)
  assert.deepEqual(told, ['not now', 'not now', 'answered'])
})

test('an item whose neighbours were wrong survives a passing failure, too', async () => {
  let hasFailed = false
  const lane = laneOf((items) => {
    if (items.length > 1) throw new Error('wrong')
    if (items[0] === 'b' && !hasFailed) {
      hasFailed = true
      throw new Transient()
    }
    return echo(items)
  })
  const answers = ['a', 'b', 'c'].map((item) => lane.submit(item, WAIT_MS))
  assert.deepEqual(await Promise.all(answers), ['a!', 'b!', 'c!'])
})

test('an item that stays unanswered while the store fails is given up at its deadline, and its neighbours are not', async () => {
  let isAway = true
  const sent: string[][] = []
  const lane = laneOf((items) => {
    sent.push([...items])
    if (isAway) throw new Transient()
    return echo(items)
  })
  const startedMs = performance.now()
  const patient = lane.submit('patient', WAIT_MS)
  await assert.rejects(lane.submit('hasty', 40), LaneTimeout)
  const tookMs = performance.now() - startedMs
  assert.ok(tookMs >= 39 && tookMs < WAIT_MS, `${tookMs} ms`)
  isAway = false
  assert.equal(await patient, 'patient!')
  assert.deepEqual(sent.at(-1), ['patient'], 'what was given up is not sent any more')
})

test('an item is given up at its deadline also when the store neither answers nor fails', async () => {
  const store = createStore()
  const lane = laneOf(store.run)
  const inBatch = lane.submit('a', 30)
  await turn()
  const behind = lane.submit('b', 30)
  const late = sleep(500).then(() => 'still waiting after 500 ms')
  const [first, second] = await Promise.all(
    [inBatch, behind].map((answer) => Promise.race([answer.catch((error: unknown) => error), late])),
  )
  store.pass()
  store.pass()
  assert.ok(first instanceof LaneTimeout, `in the running batch: ${String(first)}`)
  assert.ok(second instanceof LaneTimeout, `behind the running batch: ${String(second)}`)
})

test('a full queue refuses at once and takes items again when there is room', async () => {
  const store = createStore()
  const lane = laneOf(store.run, { queueMax: 2 })
  const running = lane.submit('a', WAIT_MS)
  await turn()
  const queued = ['b', 'c'].map((item) => lane.submit(item, WAIT_MS))
  await assert.rejects(lane.submit('d', WAIT_MS), LaneFull)
  store.pass()
  await running
  await turn()
  const later = lane.submit('e', WAIT_MS)
  store.pass()
  await Promise.all(queued)
  await turn()
  store.pass()
  assert.equal(await later, 'e!')
  assert.deepEqual(store.batches, [['a'], ['b', 'c'], ['e']])
})

test('a lane is idle when everything has been answered, and not before', async () => {
  const store = createStore()
  const lane = laneOf(store.run)
  await lane.idle()
  const answer = lane.submit('a', WAIT_MS)
  let isIdle = false
  const idle = lane.idle().then(() => (isIdle = true))
  await turn()
  await turn()
  assert.equal(isIdle, false)
  store.pass()
  await idle
  assert.equal(await answer, 'a!')
  assert.equal(lane.queued, 0)
})

test('thousands of items at once are all answered, each once', async () => {
  let answered = 0
  const lane = laneOf(
    async (items) => {
      await turn()
      answered += items.length
      return echo(items)
    },
    { batchMax: 256, queueMax: 10_000 },
  )
  const items = Array.from({ length: 10_000 }, (_, i) => String(i))
  const answers = await Promise.all(items.map((item) => lane.submit(item, WAIT_MS)))
  assert.deepEqual(
    answers,
    items.map((item) => `${item}!`),
  )
  assert.equal(answered, 10_000)
})

test('who gives up is told why the store had put them off, unless it has answered since', async () => {
  const why = new Transient('full')
  let isFull = true
  const stuck = Promise.withResolvers<string[]>()
  const run: Run = (items) => {
    if (isFull) return Promise.reject(why)
    return items.includes('stuck') ? stuck.promise : echo(items)
  }
  const lane = laneOf(run)
  const causeOf = (item: string) => lane.submit(item, 40).catch((error: Error) => error)
  const refused = await causeOf('a')
  assert.ok(refused instanceof LaneTimeout)
  assert.deepEqual([refused.name, refused.cause], ['LaneTimeout', why])
  isFull = false
  await lane.submit('b', WAIT_MS)
  const unanswered = await causeOf('stuck')
  assert.ok(unanswered instanceof LaneTimeout)
  assert.equal(unanswered.cause, undefined)
  stuck.resolve(['stuck!'])
  await lane.idle()
})

test('a batch carries no more than its size, what does not fit goes next, and small items pass it', async () => {
  const store = createStore()
  const lane = laneOf(store.run, { sizeMax: 5, sizeOf: (item) => item.length })
  const answers = ['aaaaaaaa', 'bbb', 'ccc', 'd', 'e'].map((item) => lane.submit(item, WAIT_MS))
  for (let n = 0; n < 3; n++) {
    await turn()
    store.pass()
  }
  await Promise.all(answers)
  assert.deepEqual(store.batches, [['aaaaaaaa'], ['bbb', 'd', 'e'], ['ccc']])
})

test('a batch that takes too long goes in halves, and an item that does so alone lets the others pass', async () => {
  const sizes: string[] = []
  const run: Run = (items) => {
    sizes.push(items.join(''))
    if (items.length > 2 || items.includes('x')) return Promise.reject(new Transient('too long'))
    return echo(items)
  }
  const lane = laneOf(run, { isTooLong: (error) => error instanceof Transient })
  const slow = lane.submit('x', 200)
  const answers = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((item) => lane.submit(item, WAIT_MS))
  assert.deepEqual((await Promise.all(answers)).join(''), 'a!b!c!d!e!f!g!')
  await assert.rejects(slow, LaneTimeout)
  assert.deepEqual(sizes.slice(0, 5), ['xabcdefg', 'xabc', 'xa', 'x', 'a'])
})
