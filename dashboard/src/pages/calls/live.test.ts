import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isListLive } from './live.ts'

test('a list is live when so wished, at the top, and only until more of it is loaded', () => {
  const live = { wantsLive: true, isAtTop: true, pages: 1, isLoadingMore: false }
  assert.equal(isListLive(live), true)
  for (const state of [{ wantsLive: false }, { isAtTop: false }, { pages: 0 }, { pages: 2 }, { isLoadingMore: true }])
    assert.equal(isListLive({ ...live, ...state }), false, JSON.stringify(state))
})
