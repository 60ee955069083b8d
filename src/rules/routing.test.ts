import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UPSTREAM_TIMERS } from './limits.ts'
import { isServed, priceAt, routesFor, type Deployment, type Model } from './routing.ts'

const NOON = Date.parse('2025-06-01T12:00:00Z')

function deployment(id: string, ...unsupported: string[]): Deployment {
  return {
    id,
    providerId: 'p',
    upstreamModel: 'u',
    group: 0,
    weight: 100,
    unsupportedFields: new Set(unsupported),
    timers: UPSTREAM_TIMERS,
    cost: undefined,
  }
}

function priceFrom(version: bigint, atMs: number) {
  const classes = { input: 1n, cachedInput: 1n, cacheWrite: 1n, output: 1n, reasoning: 1n }
  return { version, ...classes, effectiveFrom: new Date(atMs) }
}

function model(more: Partial<Model>): Model {
  return {
    id: 'm',
    ownedBy: 'somebody',
    createdAt: new Date(NOON),
    contextWindow: undefined,
    maxOutputTokens: undefined,
    prices: [priceFrom(1n, NOON)],
    deployments: [deployment('a')],
    ...more,
  }
}

test('the price in force is the newest that has begun, from its very first millisecond', () => {
  const priced = model({ prices: [priceFrom(1n, NOON), priceFrom(2n, NOON + 1_000), priceFrom(3n, NOON + 2_000)] })
  assert.equal(priceAt(priced, NOON - 1), undefined)
  assert.equal(priceAt(priced, NOON)?.version, 1n)
  assert.equal(priceAt(priced, NOON + 999)?.version, 1n)
  assert.equal(priceAt(priced, NOON + 1_000)?.version, 2n)
  assert.equal(priceAt(priced, NOON + 9_999)?.version, 3n)
})

test('a model without a price in force or without a deployment is not served', () => {
  assert.equal(isServed(model({}), NOON), true)
  assert.equal(isServed(model({}), NOON - 1), false)
  assert.equal(isServed(model({ prices: [] }), NOON), false)
  assert.equal(isServed(model({ deployments: [] }), NOON), false)
})

test('routes are tried in their order', () => {
  const { usable, unsupported } = routesFor(model({ deployments: ['b', 'a', 'c'].map((id) => deployment(id)) }), [])
  assert.deepEqual(
    usable.map(({ id }) => id),
    ['b', 'a', 'c'],
  )
  assert.equal(unsupported, undefined)
})

test('a route that cannot honour a field of the request is passed over', () => {
  const routed = model({ deployments: [deployment('a', 'tools'), deployment('b', 'seed'), deployment('c')] })
  const idsFor = (...fields: Parameters<typeof routesFor>[1]) => routesFor(routed, fields).usable.map(({ id }) => id)
  assert.deepEqual(idsFor('tools'), ['b', 'c'])
  assert.deepEqual(idsFor('seed'), ['a', 'c'])
  assert.deepEqual(idsFor('tools', 'seed'), ['c'])
  assert.deepEqual(idsFor('stop'), ['a', 'b', 'c'])
})

test('when no route is left, the field to blame is one that the request uses and a route lacks', () => {
  const routed = model({ deployments: [deployment('a', 'tools', 'user'), deployment('b', 'seed', 'tools')] })
  assert.deepEqual(routesFor(routed, ['stop', 'tools']), { usable: [], unsupported: 'tools' })
  const eachLacksOne = model({ deployments: [deployment('a', 'tools'), deployment('b', 'seed')] })
  assert.deepEqual(routesFor(eachLacksOne, ['stop', 'seed', 'tools']), { usable: [], unsupported: 'seed' })
})

test('a model without deployments blames no field', () => {
  assert.deepEqual(routesFor(model({ deployments: [] }), ['tools']), { usable: [], unsupported: undefined })
})
