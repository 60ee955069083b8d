import assert from 'node:assert/strict'
import { test } from 'node:test'
import crawlerUserAgents from 'crawler-user-agents'
import { list } from 'isbot'
import { CRAWLERS_LEFT_OUT, isCrawler, ISBOT_LEFT_OUT } from './crawlers.ts'

test('what is left out of the lists is in them: an entry that is gone needs no exception', () => {
  const patterns = new Set(crawlerUserAgents.map(({ pattern }) => pattern))
  assert.deepEqual(
    CRAWLERS_LEFT_OUT.filter((pattern) => !patterns.has(pattern)),
    [],
  )
  assert.deepEqual(
    ISBOT_LEFT_OUT.filter((pattern) => !list.includes(pattern)),
    [],
  )
})

/** In the middle of what nobody would take for a crawler. */
const amidst = (words: string) => `Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 ${words} Firefox/140.0`

test('every example of crawler-user-agents is found, but for those of the entries that are left out', () => {
  assert.equal(isCrawler(amidst('')), false)
  const examples = crawlerUserAgents.filter(({ pattern }) => !CRAWLERS_LEFT_OUT.includes(pattern))
  const missed = examples.flatMap(({ instances }) => instances).filter((userAgent) => !isCrawler(userAgent))
  assert.deepEqual(missed, [])
  assert.ok(examples.length > 1_000, `${examples.length} entries`)
})

test('every plain word of crawler-user-agents is found wherever it stands, and only as it is written', () => {
  const words = crawlerUserAgents
    .map(({ pattern }) => pattern)
    .filter((pattern) => /^[\w -]+$/.test(pattern) && !CRAWLERS_LEFT_OUT.includes(pattern))
  assert.ok(words.length > 500, `${words.length} words`)
  for (const word of words) {
    assert.ok(isCrawler(amidst(word)), word)
    assert.ok(isCrawler(`Mozilla/5.0 (X11) ${word}`), word)
  }
  assert.equal(isCrawler(amidst('Trove')), true)
  assert.equal(isCrawler(amidst('Trov')), false)
  assert.equal(isCrawler(amidst('trove')), false)
})
