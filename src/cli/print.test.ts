import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ago, facts, jsonOf, listing, table } from './print.ts'

test('an amount in JSON is exact text, with its credits beside it', () => {
  const document = { wallet: [{ balance_nanos: 9_007_199_254_740_993n, calls: 3n }] }
  assert.deepEqual(JSON.parse(jsonOf(document)), {
    wallet: [{ balance_nanos: '9007199254740993', balance_credits: '$9007199.254740993', calls: '3' }],
  })
})

test('a time in JSON is ISO 8601, and what is not known is null or absent', () => {
  const document = { at: new Date(0), never: null, unsaid: undefined }
  assert.deepEqual(JSON.parse(jsonOf(document)), { at: '1970-01-01T00:00:00.000Z', never: null })
})

test('the columns of a table are aligned under their names, and lines end where their text does', () => {
  const rows = [
    { name: 'a', enabled: true, routes: ['x/1', 'y/2'] },
    { name: 'longer', enabled: false, routes: [] },
  ]
  assert.equal(table(rows, 'none'), 'NAME    ENABLED  ROUTES\na       yes      x/1, y/2\nlonger  no       -')
})

test('an empty table says what to do instead', () => {
  assert.equal(table([], 'There are none.'), 'There are none.')
})

test('a list that was cut says so, and how to see the rest', () => {
  const rows = (count: number) => Array.from({ length: count }, (_, n) => ({ id: n }))
  assert.ok(!listing(rows(999), '', 'Ask for less.').includes('listed'))
  assert.match(listing(rows(1_000), '', 'Ask for less.'), /\n999\n\nOnly the first 1000 are listed\. Ask for less\.$/)
  assert.match(listing(rows(1_000), ''), /are listed\.$/)
})

test('facts are one aligned line each', () => {
  const text = facts({ id: 'x', 'created at': new Date('2026-01-31T10:00:00.123Z'), email: null, zero: 0, tokens: 5n })
  assert.equal(text, 'id          x\ncreated at  2026-01-31T10:00:00Z\nemail       -\nzero        0\ntokens      5')
})

test('what others wrote cannot control the terminal, nor pretend to be another row', () => {
  assert.equal(facts({ name: '\u001b[2Jevil\u009b1A\nbalance  $9.00' }), 'name  \ufffd[2Jevil\ufffd1A balance  $9.00')
  assert.equal(table([{ name: '\u0007a\tb' }], ''), 'NAME\n\ufffda b')
  assert.equal(table([{ name: ['a\nb', '\u202ec'] }], ''), 'NAME\na b, \ufffdc')
})

test('how long ago something was is said in the largest unit that fits', () => {
  const now = Date.UTC(2026, 0, 31)
  const said = [0, 59, 60, 119, 300, 3_600, 90_000, 172_800].map((seconds) => ago(new Date(now - seconds * 1_000), now))
  assert.deepEqual(said, [
    'just now',
    'just now',
    '1 minute ago',
    '1 minute ago',
    '5 minutes ago',
    '1 hour ago',
    '1 day ago',
    '2 days ago',
  ])
})
