import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { VECTOR_DIMENSIONS } from '../../rules/recommendations/vectors.ts'
import { createOfferIndex, openOfferIndex } from './offer-index.ts'
import type { IndexedOffer } from './rows.ts'

let directory: string
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'parley-offer-index-'))
})
after(() => rm(directory, { recursive: true }))

/** Each number is a direction of its own. */
function vectorOf(n: number): Int8Array {
  return new Int8Array(VECTOR_DIMENSIONS).fill(127, n, n + 1)
}

function offerOf(n: number, text: string, campaignId = 'campaign'): IndexedOffer {
  const facts = { id: `offer-${n}`, campaignId, feedId: 'feed', itemGroup: '', category: '', host: 'shop.example' }
  return { ...facts, text, vector: vectorOf(n), headline: text, benefit: '', price: undefined }
}

const asked = (n: number) => Float32Array.from(vectorOf(n), (part) => part / 127)

test('an offer is found by its words in any form, by its vector alone, and with its exact cosine', async () => {
  const index = await createOfferIndex(join(directory, 'found'))
  await index.add([offerOf(1, 'running shoe'), offerOf(2, 'espresso machine'), offerOf(3, 'tent')])
  await index.finishBuild()
  const found = await index.search({ words: 'shoes for runs', vector: asked(2), vectorsLimit: 1 })
  const byId = new Map(found.map((offer) => [offer.id, offer]))
  assert.deepEqual([...byId.keys()].toSorted(), ['offer-1', 'offer-2'])
  assert.ok((byId.get('offer-1')?.bm25 ?? 0) > 0)
  assert.equal(byId.get('offer-1')?.cosine, 0)
  assert.equal(byId.get('offer-2')?.bm25, 0)
  assert.equal(byId.get('offer-2')?.cosine, 1)
  index.close()
})

test('only the asked campaigns are searched, or all but some', async () => {
  const index = await createOfferIndex(join(directory, 'campaigns'))
  await index.add([offerOf(1, 'blue tent', 'a'), offerOf(2, 'green tent', "b'; drop"), offerOf(3, 'red tent', 'c')])
  await index.finishBuild()
  const idsOf = async (campaigns: { only: string[] } | { without: string[] }) =>
    (await index.search({ words: 'tent', vector: asked(1), campaigns })).map(({ id }) => id).toSorted()
  assert.deepEqual(await idsOf({ only: ["b'; drop"] }), ['offer-2'])
  assert.deepEqual(await idsOf({ without: ['a', "b'; drop"] }), ['offer-3'])
  index.close()
})

test('what was written is there after it was folded and opened again, once', async () => {
  const path = join(directory, 'written')
  const index = await createOfferIndex(path)
  await index.finishBuild()
  await index.write([offerOf(1, 'tent'), offerOf(2, 'stove')], [])
  await index.write([offerOf(1, 'large tent')], ['offer-2', 'offer-9'])
  await index.optimize()
  index.close()
  const again = (await openOfferIndex(path)) ?? assert.fail('it is not there')
  const found = await again.search({ words: 'tent stove', vector: asked(1) })
  assert.deepEqual(
    found.map(({ headline }) => headline),
    ['large tent'],
  )
  assert.equal(await again.count(), 1)
  again.close()
  assert.equal(await openOfferIndex(join(directory, 'nowhere')), undefined)
})

test('closing it while something runs ends neither that nor the process', async () => {
  const index = await createOfferIndex(join(directory, 'closed'))
  await index.finishBuild()
  for (let n = 0; n < 8; n++) await index.write([offerOf(n, 'tent')], [])
  const folding = index.optimize()
  const searching = index.search({ words: 'tent', vector: asked(1) })
  index.close()
  await folding
  assert.equal((await searching).length, 8)
  await assert.rejects(index.count(), /closed/)
})
