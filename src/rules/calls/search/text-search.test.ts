import assert from 'node:assert/strict'
import { test } from 'node:test'
import { piecesOf, problemOf, SEARCH_PARTS_MAX, textSearchOf } from './text-search.ts'

test('words, phrases and what is excluded are told apart, however the quotation marks look', () => {
  assert.deepEqual(textSearchOf('  sour dough '), { sought: ['sour', 'dough'], unwanted: [] })
  assert.deepEqual(textSearchOf('"rye bread" starter -yeast -"all purpose"'), {
    sought: ['rye bread', 'starter'],
    unwanted: ['yeast', 'all purpose'],
  })
  assert.deepEqual(textSearchOf('“rye bread” „dunkles Brot“').sought, ['rye bread', 'dunkles Brot'])
  assert.deepEqual(textSearchOf('e-mail 12-13 a-b').sought, ['e-mail', '12-13', 'a-b'])
  assert.deepEqual(textSearchOf('an "open phrase'), { sought: ['an', 'open phrase'], unwanted: [] })
  assert.deepEqual(textSearchOf('バター -"砂糖"'), { sought: ['バター'], unwanted: ['砂糖'] })
})

test('signs alone are no words, and there has to be one to look for', () => {
  for (const typed of ['', '  ', '-', '""', '- - ?!', '-"…"']) {
    assert.deepEqual(textSearchOf(typed), { sought: [], unwanted: [] }, typed)
    assert.match(problemOf(textSearchOf(typed)) ?? '', /at least one word/)
  }
  assert.match(problemOf(textSearchOf('-yeast')) ?? '', /at least one word/)
  assert.equal(problemOf(textSearchOf('bread -yeast')), undefined)
  const many = Array.from({ length: SEARCH_PARTS_MAX }, (_, n) => `w${n}`).join(' ')
  assert.equal(problemOf(textSearchOf(many)), undefined)
  assert.match(problemOf(textSearchOf(`${many} -one`)) ?? '', /At most 12/)
})

test('a snippet falls into pieces, and what is not closed is still shown', () => {
  assert.deepEqual(piecesOf('a \u0001b\u0002 c \u0001d\u0002'), [
    { text: 'a ', isMatch: false },
    { text: 'b', isMatch: true },
    { text: ' c ', isMatch: false },
    { text: 'd', isMatch: true },
  ])
  assert.deepEqual(piecesOf('\u0001b'), [{ text: 'b', isMatch: true }])
  assert.deepEqual(piecesOf(''), [])
})
