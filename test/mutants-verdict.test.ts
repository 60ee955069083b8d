import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { MUTANTS, sampleOf } from './mutants/list.ts'
import { plant, type Mutant } from './mutants/mutant.ts'
import { unsoundTitles, verdictOf } from './mutants/verdict.ts'

const ROOT = join(import.meta.dirname, '..')

/** The files that plant the bugs; every other file in their folder is a list of bugs. */
const PARTS = new Set(['copy.ts', 'list.ts', 'mutant.ts', 'mutate-rules.ts', 'run.ts', 'verdict.ts'])

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
  assert.equal(verdictOf('edges', [passed], true), 'SURVIVED', 'another test hung')
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

test('every list of bugs is part of the whole', async () => {
  const names = readdirSync(join(ROOT, 'test/mutants')).filter((name) => name.endsWith('.ts') && !PARTS.has(name))
  assert.ok(names.length > 15)
  for (const name of names) {
    const lists = Object.values((await import(`./mutants/${name}`)) as Record<string, Mutant[]>)
    assert.ok(lists.flat().length > 0 && lists.flat().every((kept) => MUTANTS.includes(kept)), name)
  }
})

test('every kept bug can still be planted, says what it is, and names a test that is there', () => {
  for (const kept of MUTANTS) {
    assert.ok(existsSync(join(ROOT, kept.test)), `${kept.bug}: there is no ${kept.test}`)
    assert.ok(hasTest(readFileSync(join(ROOT, kept.test), 'utf8'), kept.title), `${kept.test} has no "${kept.title}"`)
    const text = readFileSync(join(ROOT, kept.file), 'utf8')
    const planted = plant(kept, text)
    assert.notEqual(planted, text, kept.bug)
    // A file that cannot be parsed would fail every test, and its bug would seem to be caught.
    if (kept.file.endsWith('.ts')) assert.doesNotThrow(() => stripTypeScriptTypes(planted), kept.bug)
  }
  const told = MUTANTS.map(({ file, bug }) => `${file}: ${bug}`)
  assert.deepEqual(told.toSorted(), [...new Set(told)].toSorted(), 'two bugs with one name')
})

/** In a file that builds some of its titles, only a run can tell. */
function hasTest(text: string, title: string): boolean {
  const buildsTitles = /\btest\w*\((?!\s*['"])/.test(text) || !/\btest\(/.test(text)
  return buildsTitles || text.includes(title) || text.includes(title.replaceAll("'", "\\'"))
}
