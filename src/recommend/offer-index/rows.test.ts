import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VECTOR_DIMENSIONS } from '../../rules/recommendations/vectors.ts'
import { loadEngine } from './engine.ts'
import { tableOf, unpack, type IndexedOffer } from './rows.ts'

/** Every step that an int8 has, each with its place. */
const vector = Int8Array.from({ length: VECTOR_DIMENSIONS }, (_, n) => (n % 255) - 127)
const OFFER: IndexedOffer = {
  id: 'a',
  campaignId: 'c',
  feedId: 'f',
  itemGroup: '',
  category: 'A > B',
  host: 'shop.example',
  text: 'what is searched',
  vector,
  headline: 'Zoë’s “best” lamp 💡',
  benefit: '',
  price: { amount: '1.00', currency: 'EUR' },
}

test('an offer comes out of the engine as it went in, and its vector exactly', async () => {
  const table = tableOf(await loadEngine(), [OFFER, { ...OFFER, id: 'b', price: undefined }])
  const packed = table.getChild('packed')
  const { text: _searched, ...stored } = OFFER
  assert.deepEqual(unpack(packed?.get(0) as Uint8Array), stored)
  assert.deepEqual(unpack(packed?.get(1) as Uint8Array), { ...stored, id: 'b', price: undefined })
  const kept = table.getChild('vector')?.get(1) as { toArray(): Uint16Array } | undefined
  const halves = kept?.toArray() ?? assert.fail('no vector')
  assert.deepEqual([...new Float16Array(halves.buffer, halves.byteOffset, VECTOR_DIMENSIONS)], [...vector])
})
