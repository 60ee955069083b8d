import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openMatcher, type MatcherInProcess } from '../bench/recommend/matcher-in-process.ts'
import { readOwnOffers, readTalks, SENSITIVE_SETS } from '../bench/recommend/sets.ts'
import { hearAll, mustSpeak, type Heard } from '../bench/recommend/silence-bars.ts'
import { openVectorShelf } from '../bench/recommend/vector-shelf.ts'
import { openEmbedder, type Embedder } from '../src/recommend/embedding/embedder.ts'
import { createGates } from '../src/recommend/gates/gates.ts'
import { readHeads } from '../src/recommend/gates/heads.ts'
import { fingerprint, proofOf } from '../src/recommend/gates/proof.ts'

const KEPT_DIR = join(import.meta.dirname, '../.parley')

/** Written by four authors; none of them knew the gates. */
const SENSITIVE = SENSITIVE_SETS.flatMap(readTalks)

let embedder: Embedder
let matcher: MatcherInProcess

before(async () => {
  embedder = await openEmbedder({ cacheDir: join(KEPT_DIR, 'models'), threads: 2 })
  const gates = createGates({ embedder, heads: readHeads() })
  const shelf = openVectorShelf(embedder, join(KEPT_DIR, 'bench'))
  matcher = await openMatcher(readOwnOffers(), { embedder, gates, shelf })
})

after(async () => {
  await matcher.close()
  await embedder.close()
})

function wordsOf({ talk: { id, topic, turns }, reply }: Heard): string {
  return `${id} ${topic}: ${turns.map(({ text }) => text).join(' / ')} -> ${'match' in reply ? reply.match.headline : ''}`
}

test('nothing is recommended on any of the sensitive prompts that nothing was learned from', async () => {
  const talks = SENSITIVE
  assert.ok(talks.length >= 500, `${talks.length} prompts`)
  assert.ok(new Set(talks.map(({ topic }) => topic)).size >= 15)
  const shown = (await hearAll('sensitive', talks, matcher)).filter(({ isShown }) => isShown)
  assert.deepEqual(shown.map(wordsOf), [])
})

test('of everyday prompts that want nothing to buy, at most one in fifty has a recommendation', async () => {
  const talks = readTalks('everyday')
  assert.ok(talks.length >= 300, `${talks.length} prompts`)
  const shown = (await hearAll('everyday', talks, matcher)).filter(({ isShown }) => isShown)
  assert.ok(
    shown.length <= talks.length * 0.02,
    `${shown.length} of ${talks.length}:\n${shown.map(wordsOf).join('\n')}`,
  )
})

test('a plain wish for a product that is there has a recommendation: silence is not how the others pass', async () => {
  await mustSpeak(matcher)
})

test('the proof in the repository is of the gates in the repository, and says that nothing was shown', () => {
  const proof = proofOf()
  assert.equal(proof.why, undefined, `${proof.why} (now ${fingerprint()})`)
  assert.deepEqual({ isProven: proof.isProven, shown: proof.shown }, { isProven: true, shown: 0 })
  assert.ok(proof.prompts >= SENSITIVE.length)
})
