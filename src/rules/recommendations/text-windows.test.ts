import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WINDOW_LIMITS, windowsOf } from './text-windows.ts'

test('a short text is its own only window', () => {
  assert.deepEqual(windowsOf('  best shoes? '), ['best shoes?'])
})

test('every sentence of a long text stands whole in one of its windows', () => {
  for (let sentence = 0; sentence < 60; sentence++) {
    const needle = `Sentence ${sentence} is the one that nobody may miss.`
    const text = Array.from({ length: 60 }, (_, index) =>
      index === sentence ? needle : 'Here is another plain one, of no interest.',
    ).join(' ')
    assert.ok(
      windowsOf(text)
        .slice(1)
        .some((window) => window.includes(needle)),
      needle,
    )
  }
})

test('no window is longer than the model reads, also where a text has no spaces', () => {
  for (const text of ['x'.repeat(5000), 'word '.repeat(3000), `${'y'.repeat(399)} ${'z'.repeat(700)}`]) {
    const [whole, ...parts] = windowsOf(text)
    assert.ok(whole!.length <= WINDOW_LIMITS.wholeCharacters)
    assert.ok(parts.length > 1 && parts.every((part) => part.length <= WINDOW_LIMITS.characters))
    assert.ok(parts.at(-1)!.trimEnd().endsWith(text.trimEnd().slice(-20)), 'the end is in the last one')
  }
})
