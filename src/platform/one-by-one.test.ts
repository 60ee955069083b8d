import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOneByOne } from './one-by-one.ts'

test('an error keeps nobody from their turn, and the first one is thrown when all had it', async () => {
  const oneByOne = createOneByOne()
  const seen: number[] = []
  await oneByOne.each([1, 2, 3, 4], async (n) => {
    seen.push(n)
    if (n % 2 === 0) throw new Error(`no ${n}`)
  })
  assert.deepEqual(seen, [1, 2, 3, 4])
  assert.throws(() => oneByOne.throwFirst(), /^Error: no 2$/)
})

test('where nothing fails, nothing is thrown', async () => {
  const oneByOne = createOneByOne()
  await oneByOne.each([1], async () => {})
  oneByOne.throwFirst()
})
