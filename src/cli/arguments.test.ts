import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidArgumentError } from 'commander'
import {
  domainOf,
  creditsOf,
  limitUpTo,
  listOf,
  marginOf,
  nameOf,
  priceOf,
  signedCreditsOf,
  tenantNameOf,
  timeOf,
  wholeNumber,
} from './arguments.ts'
import { baseUrlOf } from './catalogue/providers.ts'

function refuses(read: (text: string) => unknown, ...texts: string[]): void {
  for (const text of texts) assert.throws(() => read(text), InvalidArgumentError, `accepted ${JSON.stringify(text)}`)
}

test('an amount is exact, and nothing is not an amount', () => {
  assert.equal(creditsOf('12.5'), 12_500_000_000n)
  assert.equal(creditsOf('$0.000000001'), 1n)
  refuses(creditsOf, '0', '0.00', '-1', '1,5', '1e3', '', '0.0000000001')
})

test('an adjustment has a sign, and may be anything but nothing', () => {
  assert.equal(signedCreditsOf('-12.5'), -12_500_000_000n)
  assert.equal(signedCreditsOf('+0.000000001'), 1n)
  assert.equal(signedCreditsOf('3'), 3_000_000_000n)
  refuses(signedCreditsOf, '-0', '0', '--1', '-', '', '-1e3')
})

test('a price is in dollars per million tokens, and one typed in another unit is refused', () => {
  assert.equal(priceOf('0.15'), 150_000_000n)
  assert.equal(priceOf('0'), 0n)
  refuses(priceOf, '10000.01', '150000', '-1', 'free')
})

test('a margin is in percent', () => {
  assert.equal(marginOf('12.5'), 1_250)
  refuses(marginOf, '-5', '1001', 'a fifth')
})

test('a number is whole and within its bounds', () => {
  const read = wholeNumber(0, 365)
  assert.deepEqual([read('0'), read('365')], [0, 365])
  refuses(read, '-1', '366', '1.5', '', ' 1', '0x10', '1e2')
  assert.deepEqual([limitUpTo(10)('none'), limitUpTo(10)('10')], ['none', 10])
  refuses(limitUpTo(10), '0', '11', 'null', '')
})

test('a list names each entry once, and at least one', () => {
  assert.deepEqual(listOf('a, b,,a'), ['a', 'b'])
  refuses(listOf, '', ' , ')
})

test('a time is written with its date first', () => {
  assert.equal(timeOf('2026-01-31T00:00:00Z').getTime(), Date.UTC(2026, 0, 31))
  refuses(timeOf, 'tomorrow', '31.01.2026', '2026-13-01', '1')
})

test('a tenant’s name is one that the console takes, too', () => {
  assert.equal(tenantNameOf(' Example '), 'Example')
  assert.equal(tenantNameOf('x'.repeat(100)), 'x'.repeat(100))
  refuses(tenantNameOf, '', '  ', 'x'.repeat(101), 'Fix it at parley-billing.com', 'two\nlines')
})

test('a name is not empty', () => {
  assert.equal(nameOf(' Example '), 'Example')
  assert.equal(nameOf('Amazon.com, Inc.'), 'Amazon.com, Inc.')
  refuses(nameOf, '', '  ', 'x'.repeat(201))
})

test('a domain is kept as DNS knows it, and anything more than a domain is refused', () => {
  assert.equal(domainOf('News.Example.COM.'), 'news.example.com')
  assert.equal(domainOf('exämple.com'), 'xn--exmple-cua.com')
  refuses(domainOf, 'https://example.com', 'example.com/path', 'example.com:80', 'a@example.com', 'localhost', '')
  refuses(domainOf, '127.0.0.1', '[::1]', 'exa mple.com', '-a.com', `${'a'.repeat(64)}.com`, '*.example.com')
})

test('a base URL ends before the endpoint and carries no key', () => {
  assert.equal(baseUrlOf('https://api.example.com/v1/'), 'https://api.example.com/v1')
  refuses(baseUrlOf, 'api.example.com/v1', 'ftp://example.com', 'https://key@example.com/v1', 'https://example.com?k=1')
  refuses(baseUrlOf, 'https://example.com/v1/chat/completions', '')
  refuses(baseUrlOf, 'https://example.com/v1/messages', 'https://example.com/v1beta/models/x:streamGenerateContent')
})
