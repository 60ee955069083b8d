import assert from 'node:assert/strict'
import { test } from 'node:test'
import { categoriesOf, obstacleToOn, standingOf, topicsOf } from './monetization.ts'

const PROVEN = { isProven: true, prompts: 500, shown: 0 }

test('readers are shown something only with a general audience and a passed safety check', () => {
  assert.equal(obstacleToOn({ audience: 'general', isSandbox: false }, PROVEN), undefined)
  assert.match(obstacleToOn({ audience: 'teen', isSandbox: false }, PROVEN) ?? '', /audience/)
  assert.match(obstacleToOn({ audience: 'child', isSandbox: false }, PROVEN) ?? '', /audience/)
  assert.match(obstacleToOn({ audience: 'general', isSandbox: true }, PROVEN) ?? '', /never shown in a sandbox/)
  assert.match(
    obstacleToOn({ audience: 'general', isSandbox: false }, { ...PROVEN, isProven: false }) ?? '',
    /not passed/,
  )
  assert.match(
    obstacleToOn({ audience: 'general', isSandbox: false }, { isProven: true, prompts: 500, shown: 1 }) ?? '',
    /has failed/,
  )
})

test('one ready matcher with offers is enough, and the operator’s switch comes before everything', () => {
  const now = { isOn: true, ready: 1, starting: 1, switchedOff: 1, offers: 5n }
  assert.equal(standingOf(now), 'ready')
  assert.equal(standingOf({ ...now, isOn: false }), 'paused')
  assert.equal(standingOf({ ...now, offers: 0n }), 'no_offers')
  assert.equal(standingOf({ ...now, ready: 0 }), 'starting')
  assert.equal(standingOf({ ...now, ready: 0, starting: 0 }), 'switched_off')
  assert.equal(standingOf({ ...now, ready: 0, starting: 0, switchedOff: 0 }), 'absent')
})

test('a category is spelled as feeds spell it, and each is there once', () => {
  assert.deepEqual(categoriesOf(['Home>  Garden ', 'home > garden', ' > ', 'Toys']), ['Home > Garden', 'Toys'])
})

test('a topic that was written twice is there once, as it was written first', () => {
  assert.deepEqual(topicsOf(['  Last   will', 'last will', '', 'Divorce']), ['Last will', 'Divorce'])
})
