import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchOf } from './fuzzy.ts'

const PAGES = ['Home', 'Quick start', 'Domain', 'API keys', 'Browser sessions', 'Playground', 'Usage', 'Costs', 'Calls',
  'Conversations', 'End users', 'Wallet', 'Limits', 'Monetization', 'Project settings', 'Team', 'Audit log'] // prettier-ignore

function found(typed: string, among = PAGES): string[] {
  return among
    .flatMap((text) => ({ text, score: matchOf(typed, text)?.score }))
    .filter(({ score }) => score !== undefined)
    .toSorted((a, b) => (b.score ?? 0) - (a.score ?? 0))
    .map(({ text }) => text)
}

test('the beginning of a word, its letters in order and the beginnings of several words all lead to it', () => {
  for (const [typed, first] of [
    ['wal', 'Wallet'],
    ['wlt', 'Wallet'],
    ['plgr', 'Playground'],
    ['ak', 'API keys'],
    ['keys', 'API keys'],
    ['qs', 'Quick start'],
    ['bs', 'Browser sessions'],
    ['settings', 'Project settings'],
    ['log audit', 'Audit log'],
    ['versations', 'Conversations'],
    ['TEAM', 'Team'],
  ] as const)
    assert.equal(found(typed)[0], first, typed)
})

test('letters that begin inside a word fit only together, and every word that was typed has to fit', () => {
  assert.deepEqual(found('onve'), ['Conversations'])
  assert.deepEqual(found('onvt'), [])
  assert.deepEqual(found('audit wallet'), [])
  assert.deepEqual(found('zz'), [])
  assert.equal(matchOf('   ', 'Home'), undefined)
})

test('letters that stand together are better than letters that are strewn, and a beginning better than a middle', () => {
  assert.deepEqual(found('use', ['Unseen', 'End users', 'Use']), ['Use', 'End users', 'Unseen'])
  assert.deepEqual(found('co', ['Account', 'Costs']), ['Costs', 'Account'])
})

test('the places are those of the letters, with accents and case left aside', () => {
  assert.deepEqual(matchOf('cafe', 'Zum Café')?.at, [4, 5, 6, 7])
  assert.deepEqual(matchOf('café', 'ZUM CAFE')?.at, [4, 5, 6, 7])
  assert.deepEqual(matchOf('st qu', 'Quick start')?.at, [0, 1, 6, 7])
  assert.deepEqual(matchOf('🍰', 'Tea 🍰')?.at, [4, 5])
})
