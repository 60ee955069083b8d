import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contenders, rank, searchWordsOf, type Candidate } from './ranking.ts'

function candidateOf(id: string, changes: Partial<Candidate> = {}): Candidate {
  const facts = { id, campaignId: id, feedId: '', itemGroup: '', category: '', host: '' }
  return { ...facts, bm25: 0, cosine: 0.5, hintCosine: -1, ...changes }
}

const idsOf = (ranked: readonly { candidate: Candidate }[]) => ranked.map(({ candidate }) => candidate.id)
const own = (campaignId: string) => campaignId

test('words count three parts and vectors seven, words as a share of the best', () => {
  const ranked = rank([candidateOf('near', { cosine: 0.6 }), candidateOf('worded', { bm25: 12, cosine: 0.4 })])
  assert.deepEqual(idsOf(ranked), ['worded', 'near'])
  assert.ok(Math.abs((ranked[0]?.fit ?? 0) - (0.3 + 0.7 * 0.4)) < 1e-9)
  assert.ok(Math.abs((ranked[1]?.fit ?? 0) - 0.7 * 0.6) < 1e-9)
})

test('a hint speaks for the offers of its campaign, but not for one that has nothing to do with the matter', () => {
  const [hinted, stranger] = rank([
    candidateOf('hinted', { cosine: 0.25, hintCosine: 0.7 }),
    candidateOf('stranger', { cosine: 0.05, hintCosine: 0.7 }),
  ])
  assert.equal(hinted?.relevance, 0.7)
  assert.equal(stranger?.relevance, 0.05)
})

test('what decided is the hint only where it is nearer than the offer’s own words, and may speak for it', () => {
  const ranked = rank([
    candidateOf('hinted', { cosine: 0.25, hintCosine: 0.7 }),
    candidateOf('near', { cosine: 0.7, hintCosine: 0.6 }),
    candidateOf('even', { cosine: 0.5, hintCosine: 0.5 }),
    candidateOf('stranger', { cosine: 0.05, hintCosine: 0.7 }),
  ])
  assert.deepEqual(
    ranked.filter(({ isByHint }) => isByHint).map(({ candidate }) => candidate.id),
    ['hinted'],
  )
})

test('what is below the asked relevance takes no part, however good its words', () => {
  const ranked = rank([candidateOf('worded', { bm25: 50, cosine: 0.3 }), candidateOf('near', { cosine: 0.5 })])
  assert.deepEqual(idsOf(contenders(ranked, 0.4, own)), ['near'])
})

test('bids decide only among offers nearly as good as the best that may be shown', () => {
  const ranked = rank([
    candidateOf('best', { cosine: 0.8 }),
    candidateOf('close', { cosine: 0.7 }),
    candidateOf('far', { cosine: 0.6 }),
  ])
  assert.deepEqual(idsOf(contenders(ranked, 0.4, own)), ['best', 'close'])
})

test('an advertiser has one contender, its best, and one that is not live has none', () => {
  const ranked = rank([
    candidateOf('a1', { cosine: 0.6 }),
    candidateOf('a2', { cosine: 0.61 }),
    candidateOf('b1', { cosine: 0.59 }),
    candidateOf('gone', { cosine: 0.6 }),
  ])
  const advertiserOf = (id: string) => (id === 'gone' ? undefined : id.charAt(0))
  assert.deepEqual(idsOf(contenders(ranked, 0.4, advertiserOf)), ['a2', 'b1'])
})

test('equal offers come in the order of their ids, whichever way they were found', () => {
  const same = ['c', 'a', 'b'].map((id) => candidateOf(id))
  assert.deepEqual(idsOf(rank(same)), ['a', 'b', 'c'])
  assert.deepEqual(idsOf(rank(same.toReversed())), ['a', 'b', 'c'])
})

test('what comes up again is searched with first, then what was said last, without words of talk, and there is an end', () => {
  assert.equal(searchWordsOf(['A red hat, please', 'and blue shoes?']), 'blue shoes red hat')
  assert.equal(
    searchWordsOf(['Which tent for rain?', 'A tent with a high hydrostatic head.']),
    'tent high hydrostatic head rain',
  )
  const many = Array.from({ length: 500 }, (_, n) => `word${n}`).join(' ')
  assert.equal(searchWordsOf([many]).split(' ').length, 16)
})
