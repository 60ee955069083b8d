import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXAMPLES_MAX, mergeFindings, type Finding } from './invariants.ts'

test('findings of one invariant are counted together and keep the first examples only', () => {
  const finding = (invariant: Finding['invariant'], violations: number, first: number): Finding => ({
    invariant,
    violations,
    examples: Array.from({ length: Math.min(violations, EXAMPLES_MAX) }, (_, n) => ({
      id: `${first + n}`,
      detail: '',
    })),
  })
  const merged = mergeFindings([finding('I4', 8, 1), finding('I1', 1, 1), finding('I4', 500, 9)])
  assert.deepEqual(
    merged.map(({ invariant, violations, examples }) => [invariant, violations, examples.map(({ id }) => id).join()]),
    [
      ['I4', 508, '1,2,3,4,5,6,7,8,9,10'],
      ['I1', 1, '1'],
    ],
  )
})
