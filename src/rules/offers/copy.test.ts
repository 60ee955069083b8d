import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { BENEFIT_CHARS_MAX, benefitOf, cleanCategory, cleanCopy, HEADLINE_CHARS_MAX, headlineOf } from './copy.ts'

test('cleaned copy is one line of visible characters, whatever came in', () => {
  const nasty = fc.constantFrom(
    '<b>',
    '&lt;',
    '\n',
    '\u202e',
    '\u200b',
    '\0',
    '```',
    '](',
    'https://',
    '0https://',
    '@',
    '&amp;',
    '\u{e0041}',
    '\ud800',
    ' ',
  )
  const text = fc
    .array(fc.oneof(fc.string({ unit: 'binary', maxLength: 8 }), nasty), { maxLength: 12 })
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, (raw) => {
      const cleaned = cleanCopy(raw)
      assert.doesNotMatch(cleaned, /\p{C}|[\n\r\u2028\u2029]|\p{Default_Ignorable_Code_Point}/u)
      assert.doesNotMatch(cleaned, /[<>`]|:\/\/| {2}|^ | $/)
      assert.equal(cleaned, cleaned.normalize('NFC'))
    }),
    { numRuns: 2_000 },
  )
})

test('what shops escape, mark up or write by habit becomes plain words', () => {
  for (const [raw, cleaned] of [
    ['Wireless &amp;amp; foldable', 'Wireless & foldable'],
    ['<p>Soft <b>ear</b> pads</p><p>Light</p>', 'Soft ear pads Light'],
    ['<script>x()</script>Lamp', 'Lamp'],
    ['Lamp &lt;br&gt; small', 'Lamp small'],
    ['  Desk\n\nlamp\t(white)  ', 'Desk lamp (white)'],
    ['Lamp, see [our shop](https://a.example/b) now', 'Lamp, see our shop now'],
    ['24" monitor, 4K', '24" monitor, 4K'],
    ['Cafe\u0301 maker', 'Café maker'],
    ['R&D desk 3.5mm 802.11ax', 'R&D desk 3.5mm 802.11ax'],
    ['**New** lamp', 'New lamp'],
    ['日本語の本', '日本語の本'],
  ] as const) {
    assert.equal(cleanCopy(raw), cleaned, raw)
  }
})

test('addresses, email and telephone numbers are taken out, sizes and model numbers stay', () => {
  assert.equal(cleanCopy('Call +1 (212) 555-0199 or write a.b@shop.example, www.shop.example/x'), 'Call or write,')
  assert.equal(cleanCopy('Lamp evil-shop.com/buy'), 'Lamp')
  assert.equal(cleanCopy('Bosch GSR 18V-55 1920 x 1080 4006381333931'), 'Bosch GSR 18V-55 1920 x 1080 4006381333931')
})

test('a category keeps its parts and loses its tags', () => {
  assert.equal(cleanCategory('Electronics &gt; Audio > <b>Headphones</b>'), 'Electronics > Audio > Headphones')
  assert.equal(cleanCategory('Home>Lighting>Desk lamps'), 'Home > Lighting > Desk lamps')
  assert.equal(cleanCategory('Home / Lighting'), 'Home > Lighting')
  assert.equal(cleanCategory(' > > '), '')
})

test('headline and benefit have room for whole words only', () => {
  const title = 'Nordlicht Aurora 3 dimmable desk lamp with wireless charging, USB-C and memory'
  assert.equal(headlineOf(title), 'Nordlicht Aurora 3 dimmable desk lamp with wireless charging')
  assert.ok(headlineOf('x'.repeat(100)).length <= HEADLINE_CHARS_MAX)
  assert.equal(benefitOf('Bright and small. Made in Norway.'), 'Bright and small.')
  assert.equal(benefitOf('Runs 5.5 hours, then rests'), 'Runs 5.5 hours, then rests')
  const cut = benefitOf(`${'quiet '.repeat(30)}end.`)
  assert.ok(cut.length <= BENEFIT_CHARS_MAX && cut.endsWith('quiet…'))
  assert.equal(benefitOf(''), '')
})

test('a link is not looked for beyond the next bracket that opens, which would take long in a text of nothing else', () => {
  assert.equal(
    cleanCopy('See [our lamps](https://shop.example/lamps_(new)) and ![one](a.png) here'),
    'See our lamps ) and here',
  )
  assert.equal(cleanCopy('[[[our lamps](x)'), '[[our lamps')
  assert.equal(cleanCopy('[lamps](x [desks](y)'), '[lamps](x desks')
})
