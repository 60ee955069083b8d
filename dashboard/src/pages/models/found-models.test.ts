import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foundModels, sortOf, type Model, type Sort } from './found-models.ts'

function model(id: string, more: Partial<Model> & { in?: string; out?: string; p50?: number | null } = {}): Model {
  const { in: input = '5', out: output = '5', p50, ...rest } = more
  return {
    id,
    kind: 'chat',
    ownedBy: 'acme',
    contextWindow: null,
    maxOutputTokens: null,
    price: { input, cachedInput: '0', cacheWrite: '0', output, reasoning: '0' },
    abilities: [],
    calls: 0,
    measured: p50 === undefined ? null : { failed: 1, firstTokenMs: { p50, p95: null } },
    ...rest,
  }
}

const MODELS = [
  model('delta', { in: '1', contextWindow: 100, calls: 50, p50: 900 }),
  model('beta', { in: '10', out: '2', contextWindow: 900, calls: 100, p50: 300, abilities: ['json_schema', 'tools'] }),
  model('alpha', { in: '9', out: '11', ownedBy: 'Zenith', calls: 3 }),
]

test('each order puts the best first, what is not known last, and the same by name', () => {
  const order = (sort: Sort) => foundModels(MODELS, '', sort).map(({ id }) => id)
  assert.deepEqual(order('name'), ['alpha', 'beta', 'delta'])
  assert.deepEqual(order('input'), ['delta', 'alpha', 'beta'])
  assert.deepEqual(order('output'), ['beta', 'delta', 'alpha'])
  assert.deepEqual(order('context'), ['beta', 'delta', 'alpha'])
  assert.deepEqual(order('first-token'), ['beta', 'delta', 'alpha'])
  assert.deepEqual(order('failures'), ['beta', 'delta', 'alpha'])
  assert.deepEqual(order('calls'), ['beta', 'delta', 'alpha'])
})

test('every word is looked for in the id, the maker and what the model can do', () => {
  const found = (search: string) => foundModels(MODELS, search, 'name').map(({ id }) => id)
  assert.deepEqual(found('  '), ['alpha', 'beta', 'delta'])
  assert.deepEqual(found('ACME'), ['beta', 'delta'])
  assert.deepEqual(found('acme json schema'), ['beta'])
  assert.deepEqual(found('tools zenith'), [])
})

test('an order that is none is the one by name', () => {
  assert.deepEqual([sortOf(undefined), sortOf('colour'), sortOf('calls')], ['name', 'name', 'calls'])
})
