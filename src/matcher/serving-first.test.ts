import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { giveWay, watchServing } from './serving-first.ts'

const LONG_MS = 60_000

test('work that can wait goes on when the last of the replies has been served, also one that failed', async () => {
  const serving = watchServing(LONG_MS)
  await serving.gap()
  const [one, other] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const served = [serving.during(() => one.promise), serving.during(() => other.promise)]
  let isGap = false
  const gap = serving.gap().then(() => (isGap = true))
  one.resolve('reply')
  assert.equal(await served[0], 'reply')
  await sleep(20)
  assert.equal(isGap, false)
  other.reject(new Error('no vectors'))
  await assert.rejects(served[1] ?? assert.fail(), /no vectors/)
  await gap
  await serving.gap()
})

test('work that can wait gets its turn also where replies leave no gap', async () => {
  const serving = watchServing(50)
  const { promise, resolve } = Promise.withResolvers<void>()
  const served = serving.during(() => promise)
  const startedMs = performance.now()
  await serving.gap()
  await serving.gap()
  assert.ok(performance.now() - startedMs >= 90)
  resolve()
  await served
})

test('many texts are embedded in small pieces, each of which waits for a gap, and come back in order', async () => {
  const texts = Array.from({ length: 10 }, (_, n) => String(n))
  const steps: string[] = []
  const embed = async (some: readonly string[]) => {
    steps.push(some.join(''))
    return some.map((text) => new Float32Array([Number(text)]))
  }
  const gap = async () => void steps.push('gap')
  const patient = giveWay({ modelId: 'm', embed, close: async () => {} }, { gap })
  const vectors = await patient.embed(texts)
  assert.deepEqual(
    vectors.map(([n]) => n),
    texts.map(Number),
  )
  assert.deepEqual(steps, ['gap', '0123', 'gap', '4567', 'gap', '89'])
})
