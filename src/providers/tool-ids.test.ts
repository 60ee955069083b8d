import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolIdOf } from './tool-ids.ts'

test('an id that everybody takes stays as it is', () => {
  for (const id of ['call_1', 'toolu_01-A', 'x'.repeat(64)]) assert.equal(toolIdOf(id), id)
})

test('any other id becomes one that everybody takes, always the same one, and never that of another', () => {
  const ids = ['', '_', 'a.1', 'a:1', 'a_1', 'functions.f:0', 'é', `${'x'.repeat(80)}1`, `1${'x'.repeat(80)}`]
  const changed = ids.map(toolIdOf)
  for (const id of changed) assert.match(id, /^[A-Za-z0-9_-]{1,64}$/)
  assert.equal(new Set(changed).size, ids.length)
  assert.deepEqual(ids.map(toolIdOf), changed)
  assert.match(toolIdOf('functions.f:0'), /^functions_f_0_[0-9a-f]{12}$/)
})
