import assert from 'node:assert/strict'
import { test } from 'node:test'
import { httpsOriginOf, isOriginAllowed, sentenceOfOrigin } from './origins.ts'

const ANY = { domain: 'example.com', origins: null }

test('pages of the verified domain and below it may use a session', () => {
  for (const origin of [
    'https://example.com',
    'https://www.example.com',
    'https://a.b.c.example.com',
    'https://my_app.example.com',
  ])
    assert.ok(isOriginAllowed(origin, ANY), origin)
  assert.ok(isOriginAllowed('https://xn--kche-0ra.example', { domain: 'xn--kche-0ra.example', origins: null }))
})

const REFUSED: Record<string, (string | undefined)[]> = {
  'no page at all': [undefined, '', 'null', 'undefined', '*'],
  'another scheme': [
    'http://example.com',
    'http://www.example.com',
    'ftp://example.com',
    'chrome-extension://abcdef',
    'file://',
    'data:text/html,x',
    'blob:https://example.com/1',
    'wss://example.com',
    'about:blank',
    'javascript:alert(1)',
  ],
  'another site that looks like it': [
    'https://evilexample.com',
    'https://example.com.evil.com',
    'https://example.comevil.com',
    'https://example.co',
    'https://com',
    'https://example.com-evil.com',
    'https://evil.com',
    'https://example.org',
    'https://exаmple.com',
    'https://notexample.com',
    'https://.example.com.evil.net',
  ],
  'not written as browsers do': [
    'https://EXAMPLE.com',
    'HTTPS://example.com',
    'https://example.com/',
    'https://example.com/path',
    'https://example.com?x',
    'https://example.com#x',
    'https://example.com.',
    'https://www.example.com.',
    'https://example.com:443',
    'https://user@example.com',
    'https://evil.com@example.com',
    'https://example.com@evil.com',
    'https://evil.com\\.example.com',
    'https://evil.com%2eexample.com',
    'https://evil.com/.example.com',
    'https://evil.com#.example.com',
    'https://evil.com?.example.com',
    ' https://example.com',
    'https://example.com ',
    'https://example.com\t',
    'https://example.com, https://example.com',
    'https://evil.com, https://example.com',
    'https:example.com',
    'https:///example.com',
    '//example.com',
    'example.com',
    'https://küche.example.com',
  ],
  'a port that nobody listed': [
    'https://example.com:8443',
    'https://www.example.com:3000',
    'https://example.com:80',
    'https://example.com:0',
  ],
  'the developer’s own machine': [
    'https://localhost',
    'https://localhost:3000',
    'http://localhost:3000',
    'https://127.0.0.1',
    'https://[::1]',
    'https://192.168.0.1',
  ],
}
for (const [what, origins] of Object.entries(REFUSED))
  test(`${what} may not`, () => {
    for (const origin of origins) assert.ok(!isOriginAllowed(origin, ANY), String(origin))
  })

test('a domain that is a subdomain does not open the one above it, nor its neighbours', () => {
  const shop = { domain: 'shop.example.com', origins: null }
  assert.ok(isOriginAllowed('https://shop.example.com', shop))
  for (const origin of ['https://example.com', 'https://www.example.com', 'https://xshop.example.com'])
    assert.ok(!isOriginAllowed(origin, shop), origin)
  assert.ok(
    !isOriginAllowed('https://example.com', { domain: 'www.example.com', origins: null }),
    'not its twin either',
  )
})

test('listed origins narrow it to these, each with its port, and open nothing beyond the domain', () => {
  const listed = {
    domain: 'example.com',
    origins: ['https://app.example.com', 'https://dev.example.com:8443', 'https://evil.com'],
  }
  assert.ok(isOriginAllowed('https://app.example.com', listed))
  assert.ok(isOriginAllowed('https://dev.example.com:8443', listed))
  for (const origin of [
    'https://example.com',
    'https://dev.example.com',
    'https://app.example.com:8443',
    'https://evil.com',
    'https://x.app.example.com',
  ])
    assert.ok(!isOriginAllowed(origin, listed), origin)
})

test('an https origin is one that is written as browsers write it', () => {
  assert.equal(httpsOriginOf('https://a.example:8443')?.port, '8443')
  assert.equal(httpsOriginOf('https://a.example')?.hostname, 'a.example')
  for (const text of ['https://a.example/', 'https://A.example', 'http://a.example', 'null', undefined])
    assert.equal(httpsOriginOf(text), undefined)
})

test('whoever is refused is told why, with the origin and the domain, and nothing is repeated that is no origin', () => {
  const sentence = (origin: string | undefined, origins: string[] | null = null) =>
    sentenceOfOrigin(origin, { domain: 'example.com', origins })
  assert.match(sentence('https://evil.com'), /^https:\/\/evil\.com is not on example\.com, the verified domain/)
  assert.match(sentence(undefined), /the header Origin is missing\. It may be used on https pages of example\.com\./)
  assert.match(sentence('null'), /on https pages of example\.com only/)
  assert.ok(!sentence('<script>').includes('<'))
  assert.match(sentence('https://example.com:8443'), /has a port: list it in origins/)
  assert.match(sentence('https://b.example.com', ['https://a.example.com']), /not among the origins/)
})

/** Characters that are all different, percent-encoded: a name of 15 KB takes URL.parse 30 ms, and 8 MB take hours. */
function encodedName(characters: number): string {
  return Array.from({ length: characters }, (_, n) => encodeURIComponent(String.fromCodePoint(0x4e00 + n))).join('')
}

test('a hostile origin takes no longer than any other: nothing of it is read that is too long or not as browsers write it', () => {
  const hostile = [
    `https://${encodedName(1_100)}`,
    `https://${encodedName(1_100)}.example.com`,
    `https://${decodeURIComponent(encodedName(1_100))}`,
    `https://${'a'.repeat(10_000)}.example.com`,
    `https://xn--${'a'.repeat(10_000)}`,
    `https://${'a.'.repeat(5_000)}`,
    `https://example.com:${'1'.repeat(10_000)}`,
    `https://[${':'.repeat(10_000)}]`,
  ]
  const beganMs = performance.now()
  for (let n = 0; n < 100; n++)
    for (const origin of hostile) assert.equal(httpsOriginOf(origin), undefined, origin.slice(0, 40))
  assert.ok(performance.now() - beganMs < 400, 'half a millisecond each')
})

test('every origin that a page of a domain can have is read, up to the longest name and port', () => {
  const longest = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`
  assert.equal(longest.length, 253)
  assert.equal(httpsOriginOf(`https://${longest}:65535`)?.hostname, longest)
  for (const origin of ['https://[::1]', 'https://[2001:db8::1]:8443', 'https://127.0.0.1', 'https://localhost:3000'])
    assert.equal(httpsOriginOf(origin)?.origin, origin)
})
