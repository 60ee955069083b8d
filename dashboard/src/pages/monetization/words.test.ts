import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withWords } from './words.ts'

test('words are taken one by one, without spaces around them and without what is there already', () => {
  assert.deepEqual(withWords([], ' last will ,Toys\nGames,, '), ['last will', 'Toys', 'Games'])
  assert.deepEqual(withWords(['Toys'], 'toys'), ['Toys'])
  assert.deepEqual(withWords(['Toys'], 'Games, GAMES, games'), ['Toys', 'Games'])
  assert.deepEqual(withWords(['Toys'], ' , '), ['Toys'])
})
