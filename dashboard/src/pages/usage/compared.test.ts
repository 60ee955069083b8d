import assert from 'node:assert/strict'
import { test } from 'node:test'
import { comparedWords } from './compared.ts'

const span = (from: string, to: string) => ({ from: `${from}:00:00.000Z`, to: `${to}:00:00.000Z` })
const MONTH = span('2026-10-16T00', '2026-11-15T00')

test('a change names the time that it is measured against', () => {
  const words = (times: { from: string; to: string }) => comparedWords({ ...times, delta: 0.1, previousCalls: 7 })
  assert.equal(words(MONTH), 'vs previous 30 days')
  assert.equal(words(span('2026-11-14T09', '2026-11-15T09')), 'vs previous 24 hours')
  assert.equal(words(span('2026-11-15T08', '2026-11-15T09')), 'vs previous hour')
  assert.equal(words(span('2025-11-15T00', '2026-11-15T00')), 'vs previous 365 days')
})

test('without a number there is nothing "vs": either there were no calls, or nothing is said', () => {
  assert.equal(comparedWords({ ...MONTH, delta: undefined, previousCalls: 0 }), 'no calls before')
  assert.equal(comparedWords({ ...MONTH, delta: undefined, previousCalls: 3 }), undefined)
})
