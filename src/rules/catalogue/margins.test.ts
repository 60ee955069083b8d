import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  classesBelow,
  dearestOf,
  formatMargin,
  isSamePrice,
  MARGIN_BPS_MAX,
  oddities,
  parseMargin,
  withMargin,
} from './margins.ts'
import { perClass, TOKEN_CLASSES } from '../billing/usage.ts'
import { parseCredits } from '../money.ts'

const COST = {
  input: parseCredits('0.15'),
  cachedInput: parseCredits('0.075'),
  cacheWrite: parseCredits('0.15'),
  output: parseCredits('0.60'),
  reasoning: parseCredits('0.60'),
}

test('a margin is added exactly, and rounded up once where a nano would have to be split', () => {
  assert.deepEqual(withMargin(COST, 0), COST)
  assert.equal(withMargin(COST, 2_000).input, parseCredits('0.18'))
  assert.equal(withMargin(COST, 1_250).output, parseCredits('0.675'))
  assert.equal(withMargin({ ...COST, input: 3n }, 1).input, 4n)
  assert.equal(withMargin({ ...COST, input: 0n }, 5_000).input, 0n)
})

test('whatever the margin, no price is below its cost or a nano more than it must be', () => {
  const cost = fc.bigInt(0n, 10_000_000_000_000n)
  fc.assert(
    fc.property(cost, fc.integer({ min: 0, max: MARGIN_BPS_MAX }), (nanos, bps) => {
      const { input } = withMargin({ ...COST, input: nanos }, bps)
      assert.ok(input >= nanos)
      const exact = nanos * BigInt(10_000 + bps)
      assert.ok(input * 10_000n >= exact && (input - 1n) * 10_000n < exact)
    }),
  )
})

test('the dearest of several costs is taken class by class', () => {
  const other = { ...COST, input: 1n, output: parseCredits('2') }
  assert.deepEqual(dearestOf([COST, other]), { ...COST, output: parseCredits('2') })
})

test('a class that is sold below its cost is named', () => {
  assert.deepEqual(classesBelow(COST, COST), [])
  assert.deepEqual(classesBelow({ ...COST, cacheWrite: COST.cacheWrite - 1n }, COST), ['cacheWrite'])
})

test('two prices are the same only when every class is', () => {
  assert.ok(isSamePrice(COST, { ...COST }))
  for (const name of TOKEN_CLASSES) assert.ok(!isSamePrice(COST, { ...COST, [name]: COST[name] + 1n }), name)
})

test('margins are read and shown in percent, down to a hundredth of one', () => {
  for (const [text, bps] of [
    ['0', 0],
    ['20', 2_000],
    ['12.5%', 1_250],
    ['0.01', 1],
    ['1000', 100_000],
  ] as const) {
    assert.equal(parseMargin(text), bps)
  }
  assert.deepEqual([0, 1_250, 1].map(formatMargin), ['0%', '12.5%', '0.01%'])
  for (const text of ['', '-1', '1.234', '1000.01', '1e2', 'x', '20 %%']) assert.throws(() => parseMargin(text), text)
})

test('a price that looks like a mistake is told, and an ordinary one is not', () => {
  const times = (factor: bigint) => perClass((name) => COST[name] * factor)
  assert.deepEqual(oddities(COST, undefined), [])
  assert.deepEqual(oddities(times(10n), COST), [])
  assert.deepEqual(oddities(COST, times(10n)), [])
  assert.equal(oddities(times(11n), COST).length, 5)
  assert.match(oddities(times(11n), COST)[0] ?? '', /^input is more than ten times/)
  assert.match(oddities(COST, times(11n)).join(), /output is less than a tenth of what it was/)
  assert.deepEqual(oddities({ ...COST, cachedInput: 0n }, COST), [
    'cachedInput is free',
    'cachedInput is less than a tenth of what it was',
  ])
  assert.deepEqual(oddities({ ...COST, output: COST.input / 11n }, undefined), ['output is less than a tenth of input'])
  assert.deepEqual(oddities({ ...COST, output: parseCredits('10001') }, undefined), [
    'output is over 10000 dollars per million tokens',
  ])
  assert.deepEqual(oddities(COST, { ...COST, input: 0n }), [], 'what was free has no tenfold')
})
