import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeOf } from './change.ts'

test('a change is told as a share of what was before, and against nothing there is none', () => {
  assert.equal(changeOf(150, 100), 0.5)
  assert.equal(changeOf(50, 100), -0.5)
  assert.equal(changeOf(0, 100), -1)
  assert.equal(changeOf(100, 100), 0)
  for (const [now, before] of [
    [1, 0],
    [1, null],
    [1, undefined],
    [null, 1],
    [undefined, 1],
    [0, 0],
  ] as const)
    assert.equal(changeOf(now, before), undefined, `${now} after ${before}`)
})
