import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  contentHashOf,
  cutAtWord,
  searchTextOf,
  SEARCHED_DESCRIPTION_CHARS_MAX,
  textHashOf,
  type FeedOffer,
} from './search-text.ts'

const lamp: FeedOffer = {
  itemId: 'L1',
  itemGroupId: null,
  title: 'Desk lamp',
  description: 'Bright and small.',
  brand: 'Nordlicht',
  link: 'https://nordlicht.example/l1',
  imageLink: null,
  price: '49.00',
  currency: 'EUR',
  availability: 'in_stock',
  condition: 'new',
  gtin: null,
  category: 'Home > Lighting > Desk lamps',
  language: 'en',
  headline: 'Desk lamp',
  benefit: 'Bright and small',
  review: 'approved',
  reviewReason: null,
}

test('what is searched is title, brand, the last part of the category and the beginning of the description', () => {
  assert.equal(searchTextOf(lamp), 'Nordlicht Desk lamp. Desk lamps. Bright and small.')
  assert.equal(
    searchTextOf({ ...lamp, title: 'NORDLICHT desk lamp', category: '', description: '' }),
    'NORDLICHT desk lamp',
  )
  const long = searchTextOf({ ...lamp, description: 'word '.repeat(1_000) })
  assert.ok(long.length < SEARCHED_DESCRIPTION_CHARS_MAX + 60)
})

test('a price or a stock changes the content but not the text that is embedded', () => {
  const cheaper = { ...lamp, price: '39.00' }
  assert.notDeepEqual(contentHashOf(cheaper), contentHashOf(lamp))
  assert.deepEqual(textHashOf(cheaper), textHashOf(lamp))
  assert.notDeepEqual(textHashOf({ ...lamp, title: 'Floor lamp' }), textHashOf(lamp))
})

test('the order of fields is no content, and every field is', () => {
  assert.deepEqual(
    contentHashOf(Object.fromEntries(Object.entries(lamp).toReversed()) as unknown as FeedOffer),
    contentHashOf(lamp),
  )
  for (const name of Object.keys(lamp)) {
    assert.notDeepEqual(contentHashOf({ ...lamp, [name]: 'other' }), contentHashOf(lamp), name)
  }
})

test('a text is cut between words, never inside a character, and never to nothing', () => {
  assert.equal(cutAtWord('one two three', 9), 'one two')
  assert.equal(cutAtWord('one two three', 7), 'one two')
  assert.equal(cutAtWord('one', 9), 'one')
  assert.equal(cutAtWord('Donaudampfschifffahrt', 5), 'Donau')
  assert.equal(cutAtWord('abc😀', 4), 'abc')
})
