import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_FIGURES } from '../catalogue/figures.ts'
import { UPSTREAM_TIMERS } from '../limits.ts'
import { isServed, drawOrder, priceAt, usableDeploymentsOf, type Deployment, type Model } from './routing.ts'

const NOON = Date.parse('2025-06-01T12:00:00Z')

function deployment(id: string, ...unsupported: string[]): Deployment {
  return {
    id,
    providerId: 'p',
    upstreamModel: 'u',
    group: 0,
    weight: 100,
    extraBody: undefined,
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
    kind: 'chat',
    ownedBy: 'somebody',
    createdAt: new Date(NOON),
    contextWindow: undefined,
    maxOutputTokens: undefined,
    figures: NO_FIGURES,
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

test('deployments are tried in their order', () => {
  const { usable, unsupported } = usableDeploymentsOf(
    model({ deployments: ['b', 'a', 'c'].map((id) => deployment(id)) }),
    [],
  )
  assert.deepEqual(
    usable.map(({ id }) => id),
    ['b', 'a', 'c'],
  )
  assert.equal(unsupported, undefined)
})

test('a deployment that cannot honour a field of the request is passed over', () => {
  const routed = model({ deployments: [deployment('a', 'tools'), deployment('b', 'seed'), deployment('c')] })
  const idsFor = (...fields: Parameters<typeof usableDeploymentsOf>[1]) =>
    usableDeploymentsOf(routed, fields).usable.map(({ id }) => id)
  assert.deepEqual(idsFor('tools'), ['b', 'c'])
  assert.deepEqual(idsFor('seed'), ['a', 'c'])
  assert.deepEqual(idsFor('tools', 'seed'), ['c'])
  assert.deepEqual(idsFor('stop'), ['a', 'b', 'c'])
})

test('when no deployment is left, the field to blame is one that the request uses and a deployment lacks', () => {
  const routed = model({ deployments: [deployment('a', 'tools', 'user'), deployment('b', 'seed', 'tools')] })
  assert.deepEqual(usableDeploymentsOf(routed, ['stop', 'tools']), { usable: [], unsupported: 'tools' })
  const eachLacksOne = model({ deployments: [deployment('a', 'tools'), deployment('b', 'seed')] })
  assert.deepEqual(usableDeploymentsOf(eachLacksOne, ['stop', 'seed', 'tools']), { usable: [], unsupported: 'seed' })
})

test('a model without deployments blames no field', () => {
  assert.deepEqual(usableDeploymentsOf(model({ deployments: [] }), ['tools']), { usable: [], unsupported: undefined })
})

function weighted(id: string, group: number, weight: number): Deployment {
  return { ...deployment(id), group, weight }
}

const idsOf = (deployments: readonly Deployment[]) => deployments.map(({ id }) => id).join('')

test('groups are tried one after the other, whatever the weights and the order in which they come', () => {
  const deployments = [weighted('c', 2, 1_000), weighted('a', 0, 1), weighted('b', 1, 500)]
  for (const chance of [0, 0.3, 0.999]) assert.equal(idsOf(drawOrder(deployments, () => chance)), 'abc')
})

test('within a group each deployment comes first as often as its weight says, and second as the weights of the rest say', () => {
  let state = 7
  const chance = () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647
  const deployments = [weighted('a', 0, 700), weighted('b', 0, 200), weighted('c', 0, 100), weighted('z', 1, 1_000)]
  const seen = new Map<string, number>()
  for (let n = 0; n < 20_000; n++) {
    const order = idsOf(drawOrder(deployments, chance))
    seen.set(order, (seen.get(order) ?? 0) + 1)
  }
  const share = (order: string) => (seen.get(order) ?? 0) / 20_000
  const expected = {
    abcz: 0.7 * (2 / 3),
    acbz: 0.7 / 3,
    bacz: 0.2 * (7 / 8),
    bcaz: 0.2 / 8,
    cabz: 0.1 * (7 / 9),
    cbaz: 0.1 * (2 / 9),
  }
  for (const [order, part] of Object.entries(expected))
    assert.ok(Math.abs(share(order) - part) < 0.015, `${order}: ${share(order)}, expected ${part}`)
})

test('no deployment is lost or doubled, and chance at its edges breaks nothing', () => {
  const deployments = [weighted('a', 0, 1), weighted('b', 0, 1_000), weighted('c', 0, 500)]
  for (const chance of [0, 0.5, 1 - 2 ** -53])
    assert.equal(
      idsOf(drawOrder(deployments, () => chance))
        .split('')
        .toSorted()
        .join(''),
      'abc',
    )
  assert.deepEqual(
    drawOrder([], () => 0),
    [],
  )
})
