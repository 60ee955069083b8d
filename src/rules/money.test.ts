import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { NANOS_PER_CREDIT, divideUp, formatAmount, formatCredits, parseCredits } from './money.ts'

const CREDITS_MAX = 999_999_999n
const amounts = fc.bigInt({ min: 0n, max: CREDITS_MAX * NANOS_PER_CREDIT + (NANOS_PER_CREDIT - 1n) })

test('every amount that is written out can be read back, to the nano', () => {
  fc.assert(fc.property(amounts, (nanos) => assert.equal(parseCredits(formatCredits(nanos)), nanos)))
})

test('an amount is written with two decimals, and with more only where it needs them', () => {
  assert.equal(formatCredits(0n), '$0.00')
  assert.equal(formatCredits(12_500_000_000n), '$12.50')
  assert.equal(formatCredits(42_000n), '$0.000042')
  assert.equal(formatCredits(1n), '$0.000000001')
  assert.equal(formatCredits(1_000_000_000_000_000_000n), '$1000000000.00')
  assert.equal(formatCredits(-1_500_000_000n), '-$1.50')
  assert.equal(formatCredits(-1n), '-$0.000000001')
})

test('for spreadsheets an amount is written without the dollar sign, and otherwise the same', () => {
  for (const nanos of [0n, 1n, 42_000n, 12_500_000_000n, -1n, -1_500_000_000n])
    assert.equal(formatAmount(nanos), formatCredits(nanos).replace('$', ''))
  assert.equal(formatAmount(-1_500_000_000n), '-1.50')
})

test('an amount is read with or without a dollar sign and decimals', () => {
  assert.equal(parseCredits('12'), 12_000_000_000n)
  assert.equal(parseCredits(' $12.5 '), 12_500_000_000n)
  assert.equal(parseCredits('0.000000001'), 1n)
  assert.equal(parseCredits('007'), 7_000_000_000n)
})

test('what is not exactly an amount is refused instead of being rounded or guessed', () => {
  const wrong = ['', ' ', '$', '-1', '+1', '1e3', '0x10', '1,5', '1_000', '1.', '.5', '1.0000000001', '1000000000']
  for (const text of [...wrong, '١', '1 2', '1.5 USD', 'NaN', 'Infinity']) {
    assert.throws(() => parseCredits(text), { message: new RegExp(`^"${RegExp.escape(text)}" is not an amount`) })
  }
  assert.throws(() => parseCredits('1000000000'), /at most 999999999 and with at most nine decimals\.$/)
  assert.equal(parseCredits('999999999'), 999_999_999_000_000_000n)
})

test('dividing rounds up, and only where something is left over', () => {
  const dividends = fc.bigInt({ min: 0n, max: 10n ** 30n })
  const divisors = fc.bigInt({ min: 1n, max: 10n ** 15n })
  fc.assert(
    fc.property(dividends, divisors, (dividend, divisor) => {
      const quotient = divideUp(dividend, divisor)
      assert.ok(quotient * divisor >= dividend)
      assert.ok((quotient - 1n) * divisor < dividend)
    }),
  )
})
