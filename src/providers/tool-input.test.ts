import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JSON_DEPTH_MAX } from '../rules/limits.ts'
import { toolInputOf } from './tool-input.ts'

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
