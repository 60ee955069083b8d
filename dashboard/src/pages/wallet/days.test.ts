import assert from 'node:assert/strict'
import { test } from 'node:test'
import { spanOfDay } from './days.ts'

test('a day of usage is the one in UTC, to its last millisecond, for readers west and east of it', async () => {
  for (const zone of ['America/New_York', 'Pacific/Auckland']) {
    // Before the file is loaded, as a browser's is: a format keeps the zone that it was made in.
    process.env.TZ = zone
    const { dayOf } = (await import(`./days.ts?${zone}`)) as typeof import('./days.ts')
    for (const time of ['00:00:00.000', '23:59:59.999'])
      assert.equal(dayOf(`2026-03-15T${time}Z`), '15 Mar 2026 (UTC)', `${time} in ${zone}`)
  }
})

test('the calls of a day are those from its beginning to that of the next, also over the end of a month', () => {
  const span = { from: '2026-02-28T00:00:00.000Z', to: '2026-03-01T00:00:00.000Z' }
  assert.deepEqual(spanOfDay('2026-02-28T00:00:00.000Z'), span)
})
