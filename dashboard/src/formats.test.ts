import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as formats from './formats.ts'

function table<T>(format: (value: T) => string | undefined, rows: [T, string | undefined][]): void {
  for (const [value, expected] of rows) assert.equal(format(value), expected, `of ${String(value)}`)
}

test('an amount shows cents, and below a dollar enough digits to see what a call costs', () => {
  table(formats.formatMoney, [
    ['0', '$0.00'],
    ['1', '$0.000000001'],
    ['42', '$0.000000042'],
    ['4200000', '$0.0042'],
    ['4250000', '$0.0043'],
    ['4000000', '$0.004'],
    ['420000000', '$0.42'],
    ['999999999', '$1.00'],
    ['1000000000', '$1.00'],
    ['1234567890000', '$1,234.57'],
    ['123456789012000000000', '$123,456,789,012.00'],
    ['-4200000', '−$0.0042'],
  ])
})

test('prices that are compared have cents, and what is less than one says so', () => {
  table(formats.formatCents, [
    ['0', '$0.00'],
    ['1', '<$0.01'],
    ['9999999', '<$0.01'],
    ['10000000', '$0.01'],
    ['120000001', '$0.12'],
    ['125000000', '$0.13'],
    ['400000000', '$0.40'],
    ['1234567890000', '$1,234.57'],
  ])
})

test('the exact amount loses no nano', () => {
  table(formats.formatMoneyExactly, [
    ['4200001', '$0.004200001'],
    ['-1234567890123', '−$1,234.567890123'],
  ])
})

test('what a person types as an amount becomes nanos, and what is no amount becomes nothing', () => {
  table(formats.parseMoney, [
    ['25', '25000000000'],
    ['$12.50', '12500000000'],
    [' 1,000.000000001 ', '1000000000001'],
    ['7.', '7000000000'],
    ['', undefined],
    ['-3', undefined],
    ['1.0000000001', undefined],
    ['1e3', undefined],
  ])
})

test('an amount to be typed over loses no digit, and is read as what it was', () => {
  const rows: [string, string][] = [
    ['0', '0'],
    ['10000000000', '10'],
    ['100000000', '0.10'],
    ['125000000', '0.125'],
    ['2505000000', '2.505'],
    ['1234567890123', '1234.567890123'],
  ]
  table(formats.plainMoney, rows)
  for (const [nanos, typed] of rows) assert.equal(formats.parseMoney(typed), nanos)
})

test('a count is short, and one that is rounded never shows four digits', () => {
  table(formats.formatCount, [
    [0, '0'],
    [999, '999'],
    [9_999, '9,999'],
    [10_000, '10 K'],
    [12_400, '12.4 K'],
    [124_400, '124 K'],
    [999_499, '999 K'],
    [999_500, '1 M'],
    [1_234_567, '1.2 M'],
    ['2500000000', '2.5 B'],
    [7_100_000_000_000, '7.1 T'],
  ])
  assert.equal(formats.formatCountExactly('1234567'), '1,234,567')
})

test('a duration is written in the unit in which people think of it', () => {
  table(formats.formatDuration, [
    [0.84, '0.8 ms'],
    [3, '3 ms'],
    [340.2, '340 ms'],
    [999.4, '999 ms'],
    [999.6, '1 s'],
    [1_240, '1.24 s'],
    [12_340, '12.3 s'],
    [60_000, '1 min'],
    [125_000, '2 min 5 s'],
    [3_600_000, '1 h'],
    [11_520_000, '3 h 12 min'],
    [90_000_000, '1 d 1 h'],
  ])
})

test('a share that is not nothing is not shown as nothing', () => {
  table(formats.formatShare, [
    [0, '0%'],
    [0.0001, '<0.1%'],
    [0.124, '12.4%'],
    [1, '100%'],
  ])
})

test('a time is shown in the zone of its reader, and in UTC for comparing', () => {
  const iso = '2026-11-14T09:41:07.250Z'
  assert.equal(formats.formatTime(iso, 'Europe/Berlin'), '14 Nov 2026, 10:41')
  assert.equal(formats.formatDate('2026-11-14T23:30:00Z', 'Asia/Tokyo'), '15 Nov 2026')
  assert.equal(formats.formatTimeInUtc(iso), '2026-11-14 09:41:07.250 UTC')
})

test('an age is rough, looks both ways, and gives way to the date after a month', () => {
  const now = Date.parse('2026-11-14T12:00:00Z')
  table(
    (iso: string) => formats.formatAge(iso, now),
    [
      ['2026-11-14T11:59:55Z', 'just now'],
      ['2026-11-14T11:59:20Z', '40 s ago'],
      ['2026-11-14T11:56:01Z', '3 min ago'],
      ['2026-11-14T15:00:00Z', 'in 3 h'],
      ['2026-11-11T12:00:00Z', '3 d ago'],
      ['2026-09-01T12:00:00Z', '1 Sept 2026'],
    ],
  )
})

test('a number stands with its noun, which is one of one', () => {
  assert.deepEqual(
    [0, 1, 2, 12_400].map((count) => formats.formatCounted(count, 'call')),
    ['0 calls', '1 call', '2 calls', '12.4 K calls'],
  )
  assert.equal(formats.formatCounted('1', 'call is', 'calls are'), '1 call is')
  assert.equal(formats.formatCounted(2n, 'call is', 'calls are'), '2 calls are')
})

test('amounts of a column have the same decimals: four at most, unless even the largest needs more', () => {
  assert.equal(formats.decimalsOf([]), 2)
  assert.equal(formats.decimalsOf(['0', '5000000000']), 2)
  assert.equal(formats.decimalsOf(['1234567890000', '42000000']), 3)
  assert.equal(formats.decimalsOf(['1234567890000', '4200']), 4)
  assert.equal(formats.decimalsOf(['42', '4200']), 7)
  assert.equal(formats.decimalsOf(['-4200000']), 4)
  assert.equal(formats.exactDecimalsOf(['3000000000', '3375000000', '42']), 9)
  assert.equal(formats.exactDecimalsOf(['3000000000', '3375000000']), 3)
  assert.equal(formats.exactDecimalsOf(['0']), 2)
  const fixed = (nanos: string) => formats.formatMoneyFixed(nanos, 4)
  assert.deepEqual(['0', '42', '50000', '4250000', '1234567890000', '-4200000', '-42'].map(fixed), [
    '$0.0000',
    '<$0.0001',
    '$0.0001',
    '$0.0043',
    '$1,234.5679',
    '−$0.0042',
    '<−$0.0001',
  ])
})
