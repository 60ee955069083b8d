import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { toInt8, VECTOR_DIMENSIONS } from '../../rules/recommendations/vectors.ts'
import { createOfferIndex, openOfferIndex, type OfferIndex, VECTOR_INDEX_FROM_ROWS } from './offer-index.ts'
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

test('the index of vectors finds 98 of 100 of the nearest offers, and those written since', async () => {
  const index = await createOfferIndex(join(directory, 'many'))
  // There are 50 kinds, and each offer is near to the others of its kind.
  const kinds = Array.from({ length: 50 }, (_, n) => directionOf(-n))
  const offers = Array.from({ length: VECTOR_INDEX_FROM_ROWS }, (_, n) => {
    const direction = directionOf(n + 1).map((part, at) => (kinds[n % kinds.length]?.[at] ?? 0) + part / 2)
    return { ...offerOf(n, 'tent'), vector: toInt8(unitOf(direction)) }
  })
  await index.add(offers)
  await index.finishBuild()
  // Between two kinds, so that no one group has all that is near.
  const questions = kinds
    .slice(0, 20)
    .map((kind, n) => unitOf(kind.map((part, at) => part + (kinds[n + 1]?.[at] ?? 0))))
  const nearest = () => Promise.all(questions.map((vector) => idsByNearness(index, vector)))
  const compared = await nearest()
  await index.indexVectors()
  const indexed = await nearest()
  // One bit for each dimension does not always tell the tenth from the sixtieth of a hundred that are alike.
  const missed = compared.flatMap((ids, n) => ids.slice(0, 10).filter((id) => !indexed[n]?.includes(id)))
  assert.ok(missed.length <= 0.02 * 10 * questions.length, `${missed.length} of ${10 * questions.length} are not found`)
  const newest = questions[0] ?? assert.fail()
  await index.write([{ ...offerOf(0, 'tent'), id: 'offer-new', vector: toInt8(newest) }], [])
  assert.equal((await idsByNearness(index, newest))[0], 'offer-new')
  index.close()
})

/** The same for the same number, and without any likeness to those of others. */
function directionOf(n: number): Float32Array {
  return Float32Array.from(
    { length: VECTOR_DIMENSIONS },
    (_, at) => (Math.sin(n * 12.9898 + at * 78.233) * 43_758.5453) % 1,
  )
}

function unitOf(direction: Float32Array): Float32Array {
  const length = Math.hypot(...direction)
  return direction.map((part) => part / length)
}

async function idsByNearness(index: OfferIndex, vector: Float32Array): Promise<string[]> {
  const found = await index.search({ words: '', vector })
  return found.toSorted((a, b) => b.cosine - a.cosine).map(({ id }) => id)
}

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
