import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createScriptCount, PLAIN } from './scripts.ts'

function scriptOf(...texts: string[]): string {
  const count = createScriptCount()
  for (const text of texts) count.add(text)
  return count.script
}

test('English is plain, with accents and quotes too', () => {
  assert.equal(scriptOf(''), PLAIN)
  assert.equal(scriptOf('Plain words, and numbers: 42.'), PLAIN)
  assert.equal(scriptOf('“Naïve café” — she said, and went on to explain at some length what had happened.'), PLAIN)
})

test('a script is told by what most of its letters are, in whatever pieces they come', () => {
  const georgian = 'გამარჯობა მსოფლიო'
  assert.equal(scriptOf(georgian), scriptOf(...Array.from(georgian)))
  assert.notEqual(scriptOf(georgian), scriptOf('नमस्ते दुनिया'))
  assert.equal(scriptOf('你好世界'), scriptOf('日本語の文'))
  assert.notEqual(scriptOf(georgian), PLAIN)
  assert.equal(scriptOf(`Translate: ${georgian}`), scriptOf(georgian), 'English around it changes nothing')
})

test('a text of several scripts is none of them', () => {
  assert.equal(scriptOf('გამარჯობა नमस्ते привет'), 'mixed')
})
