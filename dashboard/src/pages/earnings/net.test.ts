import assert from 'node:assert/strict'
import { test } from 'node:test'
import { netOf } from './net.ts'

test('what was earned is taken off the cost, and what is left over is a gain', () => {
  assert.deepEqual(netOf({ costNanos: '61', earnedNanos: '22' }), { label: 'Net cost', nanos: '39' })
  assert.deepEqual(netOf({ costNanos: '22', earnedNanos: '22' }), { label: 'Net cost', nanos: '0' })
  assert.deepEqual(netOf({ costNanos: '22', earnedNanos: '61' }), { label: 'Net gain', nanos: '39' })
})
