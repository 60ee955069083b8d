import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { MUTANTS, sampleOf } from './mutants/list.ts'
import { plant, type Mutant } from './mutants/mutant.ts'
import { unsoundTitles, verdictOf } from './mutants/verdict.ts'

const ROOT = join(import.meta.dirname, '..')

const mutant: Mutant = { bug: 'b', file: 'f.ts', from: 'a < b', to: 'a <= b', test: 't.test.ts', title: 'edges' }

test('a bug is planted as it is written, in a text that has its place once', () => {
  assert.equal(plant(mutant, 'if (a < b) c()'), 'if (a <= b) c()')
  assert.equal(plant({ ...mutant, to: '$& $1' }, 'if (a < b) c()'), 'if ($& $1) c()')
  assert.throws(() => plant(mutant, 'if (a > b) c()'), /f\.ts has its text 0 times, not once/)
  assert.throws(() => plant(mutant, 'a < b, a < b'), /2 times, not once/)
})

test('only the test that is meant to catches a bug: other failures say that the edit is no good', () => {
  const failed = { title: 'edges', passed: false }
  const passed = { title: 'edges', passed: true }
  const file = { title: '/copy/t.test.ts', passed: false }
  assert.equal(verdictOf('edges', [failed, file], false), 'caught')
  assert.equal(verdictOf('edges', [passed], false), 'SURVIVED')
  assert.equal(verdictOf('edges', [{ title: 'other', passed: false }, passed], false), 'SURVIVED')
  assert.equal(verdictOf('edges', [file], false), 'BROKEN')
  assert.equal(verdictOf('edges', [], false), 'BROKEN')
  assert.equal(verdictOf('edges', [file], true), 'hung')
})

test('a test that fails or does not exist on the code as it is proves nothing', () => {
  const results = [
    { title: 'a', passed: true },
    { title: 'b', passed: false },
  ]
  assert.deepEqual(unsoundTitles(['a', 'b', 'c'], results), ['b', 'c'])
})

test('a sample is decided by the seed, and another seed draws another', () => {
  const many = Array.from({ length: 100 }, (_, n) => ({ ...mutant, bug: `bug ${n}` }))
  const drawn = sampleOf(many, 20, 'one')
  assert.equal(new Set(drawn).size, 20)
  assert.deepEqual(sampleOf(many.toReversed(), 20, 'one'), drawn)
  assert.notDeepEqual(sampleOf(many, 20, 'two'), drawn)
})

test('every kept bug can still be planted, says what it is, and names a test that is there', () => {
  for (const kept of MUTANTS) {
    assert.ok(existsSync(join(ROOT, kept.test)), `${kept.bug}: there is no ${kept.test}`)
    assert.notEqual(plant(kept, readFileSync(join(ROOT, kept.file), 'utf8')), '')
  }
  const told = MUTANTS.map(({ file, bug }) => `${file}: ${bug}`)
  assert.deepEqual(told.toSorted(), [...new Set(told)].toSorted(), 'two bugs with one name')
})
