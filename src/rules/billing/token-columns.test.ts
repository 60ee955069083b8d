import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BILLED_TOKEN_COLUMNS, COST_COLUMNS, PRICE_COLUMNS, TOKEN_COLUMNS, type ClassColumns } from './token-columns.ts'
import { TOKEN_CLASSES, perClass } from './usage.ts'

const VALUES = { input: 1, cachedInput: 2, cacheWrite: 3, output: 4, reasoning: 5 }

test('each class of tokens has a column of its own, and comes back from it', () => {
  assert.deepEqual(Object.entries(TOKEN_COLUMNS.rowOf(VALUES)), [
    ['input_tokens', 1],
    ['cached_input_tokens', 2],
    ['cache_write_tokens', 3],
    ['output_tokens', 4],
    ['reasoning_tokens', 5],
  ])
  assert.deepEqual(PRICE_COLUMNS.names, ['input', 'cached_input', 'cache_write', 'output', 'reasoning'])
  assert.equal(COST_COLUMNS.rowOf(VALUES).cost_cache_write, 3)
  assert.equal(BILLED_TOKEN_COLUMNS.names[1], 'billed_cached_input_tokens')
  const kinds: ClassColumns<string>[] = [TOKEN_COLUMNS, BILLED_TOKEN_COLUMNS, PRICE_COLUMNS, COST_COLUMNS]
  for (const columns of kinds) {
    assert.deepEqual(columns.valuesIn(columns.rowOf(VALUES)), VALUES)
    assert.equal(new Set(columns.names).size, TOKEN_CLASSES.length)
  }
})

test('what is made per class is made once for each, in the order of the list', () => {
  const asked: string[] = []
  assert.deepEqual(Object.keys(perClass((name) => asked.push(name))), [...TOKEN_CLASSES])
  assert.deepEqual(asked, [...TOKEN_CLASSES])
})
