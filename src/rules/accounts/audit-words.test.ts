import assert from 'node:assert/strict'
import { test } from 'node:test'
import { actionOfWords, wordsOfAction } from './audit-words.ts'

test('an action is read in words, also one that nobody has written words for', () => {
  assert.equal(wordsOfAction('user.signed_in'), 'Signed in')
  assert.equal(wordsOfAction('key.created'), 'Key pair created')
  assert.equal(wordsOfAction('fleet.ship_named'), 'Fleet: ship named')
  assert.equal(wordsOfAction('constructor'), 'Constructor')
})

test('what is typed into the filter is an action by its name or by its words', () => {
  assert.equal(actionOfWords('user.signed_in'), 'user.signed_in')
  assert.equal(actionOfWords(' signed IN '), 'user.signed_in')
  assert.equal(actionOfWords('Key pair created'), 'key.created')
  assert.equal(actionOfWords('no such thing'), 'no such thing')
})
