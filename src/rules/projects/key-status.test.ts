import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainKeyStatus, keyStatusOf, secretHintOf } from './key-status.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const later = new Date(NOW_MS + 1)
const ACTIVE = { active: true, expires_at: null, replaced_by: null }

test('a pair that has ended is expired whatever else it is, and one that was replaced is ending until then', () => {
  assert.equal(keyStatusOf(ACTIVE, NOW_MS), 'active')
  assert.equal(keyStatusOf({ ...ACTIVE, expires_at: later }, NOW_MS), 'active')
  assert.equal(keyStatusOf({ ...ACTIVE, expires_at: later, replaced_by: 'x' }, NOW_MS), 'ending')
  assert.equal(keyStatusOf({ ...ACTIVE, active: false, expires_at: later, replaced_by: 'x' }, NOW_MS), 'inactive')
  assert.equal(keyStatusOf({ ...ACTIVE, active: false, expires_at: new Date(NOW_MS) }, NOW_MS), 'expired')
})

test('each state is explained by what happens to calls', () => {
  for (const standing of [ACTIVE, { ...ACTIVE, expires_at: later }, { ...ACTIVE, expires_at: later, replaced_by: 'x' }])
    assert.match(explainKeyStatus(standing, NOW_MS), /served/)
  for (const standing of [
    { ...ACTIVE, active: false },
    { ...ACTIVE, expires_at: new Date(NOW_MS) },
  ])
    assert.match(explainKeyStatus(standing, NOW_MS), /refused with 401/)
})

test('the hint of a secret shows what all secrets share and its last four characters', () => {
  assert.equal(secretHintOf('ply_pk_z9abcdefgh', 'WXYZ'), 'ply_sk_z9…WXYZ')
})
