/** The short form of `npm run clicks`, which has eight processes and 50,000 clicks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { race } from '../click-race/race.ts'
import { createTestDatabase, openTestStore } from '../support/database.ts'

test('processes that click all at once spend what campaigns have to the last click, and not a nano more', async () => {
  const database = await createTestDatabase()
  const store = openTestStore({ url: database.url, applicationName: 'click race' })
  try {
    const {
      seconds: _,
      clicks,
      ...result
    } = await race({
      store,
      databaseUrl: database.url,
      processes: 3,
      clicks: 4_800,
    })
    const nothing = { overspentNanos: 0n, underspentNanos: 0n, journalNanos: 0n, doubled: 0, lost: 0, broken: [] }
    assert.deepEqual(result, nothing)
    assert.ok((clicks.over_budget ?? 0) > 1_000 && (clicks.no_credit ?? 0) > 1_000, JSON.stringify(clicks))
  } finally {
    await store.close()
    await database.drop()
  }
})
