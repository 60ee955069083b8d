import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JSON_DEPTH_MAX, JSON_LIMITS, TOOL_INPUT_SIZE_MAX } from '../rules/limits.ts'
import { createToolInputs } from './tool-input.ts'

const toolInputOf = (written: string) => createToolInputs()(written)

test('what a tool was called with is an object, or shown as it was written', () => {
  assert.deepEqual(toolInputOf('{"city":"Oslo","days":[1,2]}'), { city: 'Oslo', days: [1, 2] })
  assert.deepEqual(toolInputOf('{}'), {})
  for (const nothing of ['', ' \n']) assert.deepEqual(toolInputOf(nothing), {})
  for (const written of ['{"city":"Os', 'Oslo', '"Oslo"', '["Oslo"]', 'null', '7', '{"a":1,"a":2}'])
    assert.deepEqual(toolInputOf(written), { arguments: written })
})

test('arguments that are nested deeper than a request may be do not break the request to a provider', () => {
  const nested = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`
  assert.deepEqual(Object.keys(toolInputOf(nested(JSON_DEPTH_MAX))), ['a'])
  for (const depth of [JSON_DEPTH_MAX + 1, 200_000])
    assert.deepEqual(toolInputOf(nested(depth)), { arguments: nested(depth) })
})

test('arguments with more fields or items than a request may have are shown as they were written', () => {
  const { keysMax, itemsMax } = JSON_LIMITS
  const fields = (count: number) => JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [n, 0])))
  const items = (count: number) => JSON.stringify({ a: Array(count).fill(0) })
  assert.equal(Object.keys(toolInputOf(fields(keysMax))).length, keysMax)
  assert.equal((toolInputOf(items(itemsMax)).a as number[]).length, itemsMax)
  for (const written of [fields(keysMax + 1), items(itemsMax + 1)])
    assert.deepEqual(toolInputOf(written), { arguments: written })
})

test('what all tools of a request were called with is bounded together, also where it was of no use', () => {
  const many = JSON.stringify({ a: Array(5_000).fill(0) })
  const field = Object.fromEntries(Array.from({ length: 99 }, (_, n) => [`x${n}`, 0]))
  const wide = JSON.stringify({ a: Array(50).fill(field) })
  for (const written of [many, wide]) {
    const inputOf = createToolInputs()
    const read = Array.from({ length: 30 }, () => 'a' in inputOf(written))
    assert.deepEqual(read, [...Array<boolean>(20).fill(true), ...Array<boolean>(10).fill(false)])
  }
  for (const written of [many.slice(0, -2), wide.slice(0, -2), JSON.stringify({ a: Array(20_000).fill(0) })]) {
    const inputOf = createToolInputs()
    for (let n = 0; n < 30; n++) assert.deepEqual(inputOf(written), { arguments: written })
    for (const late of [many, wide].filter((one) => one[6] === written[6]))
      assert.deepEqual(inputOf(late), { arguments: late })
  }
  assert.equal(TOOL_INPUT_SIZE_MAX, 20 * 5_000)
})
