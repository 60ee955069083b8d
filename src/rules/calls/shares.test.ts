import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fullShareOf, shareOf, type ShareLimits } from './shares.ts'

const limits: ShareLimits = { all: 50, most: 100, project: 10, keyPair: 5 }
const none = { all: 0, account: 0, project: 0, keyPair: 0, accounts: 1 }

test('a project, and each of its key pairs, has its share and no more, also while the rest is free', () => {
  assert.equal(fullShareOf(1, { ...none, keyPair: 4 }, limits), undefined)
  assert.equal(fullShareOf(1, { ...none, keyPair: 5 }, limits), 'key_pair')
  assert.equal(fullShareOf(1, { ...none, project: 9 }, limits), undefined)
  assert.equal(fullShareOf(1, { ...none, project: 10 }, limits), 'project')
  assert.equal(fullShareOf(3, { ...none, keyPair: 3 }, limits), 'key_pair')
})

test('a browser session has its share of its pair, where there is one', () => {
  assert.equal(fullShareOf(1, { ...none, session: 1 }, { ...limits, session: 2 }), undefined)
  assert.equal(fullShareOf(1, { ...none, session: 2 }, { ...limits, session: 2 }), 'session')
  assert.equal(fullShareOf(1, { ...none, session: 4 }, limits), undefined)
})

test('when everything is taken, who has less than an equal part gets in, and who has one does not', () => {
  const full = { all: 50, project: 0, keyPair: 0, accounts: 6 }
  assert.equal(fullShareOf(1, { ...full, account: 0 }, limits), undefined)
  assert.equal(fullShareOf(1, { ...full, account: 7 }, limits), undefined)
  assert.equal(fullShareOf(1, { ...full, account: 8 }, limits), 'account', 'whichever of its projects asks')
})

test('however many accounts there are, each may have one, until all is taken that there is', () => {
  const many = { project: 0, keyPair: 0, accounts: 1_000 }
  assert.equal(fullShareOf(1, { ...many, all: 99, account: 0 }, limits), undefined)
  assert.equal(fullShareOf(1, { ...many, all: 99, account: 1 }, limits), 'account')
  assert.equal(fullShareOf(1, { ...many, all: 100, account: 0 }, limits), 'all')
})

test('a share is a percentage, and at least one', () => {
  assert.equal(shareOf(10_000, 20), 2_000)
  assert.equal(shareOf(4, 20), 1)
  assert.equal(shareOf(1, 1), 1)
})
