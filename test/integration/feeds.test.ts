import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { FeedError } from '../../src/rules/offers/feed-error.ts'
import type { Store } from '../../src/store/database.ts'
import { listFeedRuns } from '../../src/store/offers/feeds.ts'
import { reviewOffers } from '../../src/store/offers/offers.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { addShop, importText, itemOf, jsonLines, type Item, type Shop } from '../support/feeds.ts'

let database: TestDatabase
let store: Store

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'feeds test', poolMax: 4 })
})
after(async () => {
  await store.close()
  await database.drop()
})

let shops = 0
const newShop = (): Promise<Shop> => addShop(store.db, `Shop ${++shops}`)

/** The offers that readers of the catalogue see: those that are not removed. */
async function offersOf({ advertiserId }: Shop) {
  return store.db
    .selectFrom('offers')
    .selectAll()
    .where('advertiser_id', '=', advertiserId)
    .where('removed_at', 'is', null)
    .orderBy('item_id')
    .execute()
}

async function idsOf(shop: Shop): Promise<string> {
  return (await offersOf(shop)).map((offer) => offer.item_id).join(' ')
}

const items = (ids: string, fields: Item = {}): Item[] => ids.split(' ').map((id) => itemOf(id, fields))
const feed = (ids: string, fields: Item = {}): string => jsonLines(items(ids, fields))

describe('what a run does to the catalogue', () => {
  test('new, changed, same and refused items are told apart and counted', async () => {
    const shop = await newShop()
    const first = await importText(store.db, shop, feed('a b c') + jsonLines([itemOf('d', { price: 'free' })]))
    assert.deepEqual(first.counts, { rows: 4, added: 3, changed: 0, unchanged: 0, rejected: 1, removed: 0, missing: 0 })
    assert.deepEqual(first.rejections, [{ row: 4, item: 'd', reason: 'the price "free" has no amount' }])
    const second = await importText(
      store.db,
      shop,
      jsonLines([itemOf('a'), itemOf('b', { price: '59 EUR' }), itemOf('c'), itemOf('d')]),
    )
    assert.deepEqual(second.counts, {
      rows: 4,
      added: 1,
      changed: 1,
      unchanged: 2,
      rejected: 0,
      removed: 0,
      missing: 0,
    })
    assert.equal((await offersOf(shop)).find((offer) => offer.item_id === 'b')?.price, '59.00')
    const [run] = await listFeedRuns(store.db, { limit: 1 })
    assert.partialDeepStrictEqual(run, {
      state: 'published',
      format: 'jsonl',
      rows_read: 4n,
      added: 1n,
      changed: 1n,
      unchanged: 2n,
    })
  })

  test('bringing the same again touches no row, so no matcher reads it again, and keeps the feed fresh', async () => {
    const shop = await newShop()
    await importText(store.db, shop, feed('a b c'))
    const before = await offersOf(shop)
    await sql`update feeds set expires_at = now() where advertiser_id = ${shop.advertiserId}`.execute(store.db)
    const again = await importText(store.db, shop, feed('a b c'))
    assert.equal(again.counts.unchanged, 3)
    assert.deepEqual(await offersOf(shop), before)
    const { expires_at: expiresAt } = await store.db
      .selectFrom('feeds')
      .select('expires_at')
      .where('advertiser_id', '=', shop.advertiserId)
      .executeTakeFirstOrThrow()
    const days = ((expiresAt?.getTime() ?? 0) - Date.now()) / 86_400_000
    assert.ok(days > 29.9 && days <= 30, String(days))
  })

  test('an id that comes twice counts once: the first acceptable one', async () => {
    const shop = await newShop()
    const rows = [itemOf('a', { title: '' }), itemOf('a', { title: 'Right' }), itemOf('a', { title: 'Late' })]
    const { counts, rejections } = await importText(store.db, shop, jsonLines(rows))
    assert.deepEqual([counts.added, counts.rejected], [1, 2])
    assert.deepEqual(rejections[1], { row: 3, item: 'a', reason: 'id was used before, in row 2' })
    assert.equal((await offersOf(shop))[0]?.title, 'Right')
  })

  test('a missing item stays for one run, is removed by the second, and may come back', async () => {
    const shop = await newShop()
    await importText(store.db, shop, feed('a b c d'))
    const [changedIn] = (await offersOf(shop)).map((offer) => offer.changed_in)
    const first = await importText(store.db, shop, feed('a b c'))
    assert.deepEqual([first.counts.missing, first.counts.removed], [1, 0])
    assert.deepEqual(
      (await offersOf(shop)).map((offer) => offer.changed_in),
      [changedIn, changedIn, changedIn, changedIn],
      'that it was missing once is nothing for matchers',
    )
    const second = await importText(store.db, shop, feed('a b c'))
    assert.deepEqual([second.counts.missing, second.counts.removed], [0, 1])
    assert.equal(await idsOf(shop), 'a b c')
    const back = await importText(store.db, shop, feed('a b c d'))
    assert.equal(back.counts.added, 1)
    assert.equal(await idsOf(shop), 'a b c d')
  })

  test('an item that is there again in between starts to be missing anew', async () => {
    const shop = await newShop()
    for (const ids of ['a b c d', 'a b c', 'a b c d', 'a b c']) await importText(store.db, shop, feed(ids))
    assert.equal(await idsOf(shop), 'a b c d')
  })

  test('an offer whose item is refused now goes at once', async () => {
    const shop = await newShop()
    await importText(store.db, shop, feed('a b c d'))
    const evil = itemOf('d', { link: 'https://evil.example/' })
    const { counts } = await importText(store.db, shop, jsonLines([...items('a b c'), evil]))
    assert.deepEqual([counts.rejected, counts.removed], [1, 1])
    assert.equal(await idsOf(shop), 'a b c')
  })

  test('a run that would remove more than 30 % is refused whole, unless that is confirmed', async () => {
    const shop = await newShop()
    await importText(store.db, shop, feed('a b c d e f g h i j'))
    await importText(store.db, shop, feed('a b c d e f g'))
    const fewer = jsonLines([...items('a b c d e f'), itemOf('new')])
    const refused = await importText(
      store.db,
      shop,
      jsonLines([...items('a b c d e'), itemOf('f', { price: 'x' }), itemOf('new')]),
    )
    assert.match(refused.refusal ?? '', /would remove 4 of 10 offers \(40%\), so nothing was changed/)
    assert.equal(refused.isPublished, false)
    assert.equal(await idsOf(shop), 'a b c d e f g h i j')
    const [run] = await listFeedRuns(store.db, { limit: 1 })
    assert.partialDeepStrictEqual(run, { state: 'refused', reason: refused.refusal, removed: 4n })
    const exactly = await importText(store.db, shop, fewer)
    assert.deepEqual([exactly.isPublished, exactly.counts.removed, exactly.counts.missing], [true, 3, 1])
    const confirmed = await importText(store.db, shop, feed('a'), { isRemovalConfirmed: true })
    assert.deepEqual([confirmed.isPublished, confirmed.counts.removed], [true, 1])
  })

  test('a dry run counts everything and changes nothing, not even the feed', async () => {
    const shop = await newShop()
    const dry = await importText(store.db, shop, feed('a b') + feed('a'), { isDryRun: true })
    assert.deepEqual([dry.isPublished, dry.counts.added, dry.counts.rejected, dry.runId], [false, 2, 1, undefined])
    const feeds = await store.db
      .selectFrom('feeds')
      .select('id')
      .where('advertiser_id', '=', shop.advertiserId)
      .execute()
    assert.deepEqual([await idsOf(shop), feeds.length], ['', 0])
    await importText(store.db, shop, feed('a b'))
    const runs = (await listFeedRuns(store.db, { limit: 1_000 })).length
    const later = await importText(store.db, shop, feed('a b c'), { isDryRun: true })
    assert.equal(later.counts.unchanged, 2)
    assert.equal((await listFeedRuns(store.db, { limit: 1_000 })).length, runs)
  })

  test("an item belongs to one of an advertiser's feeds, and another may have it when the first has it no more", async () => {
    const shop = await newShop()
    await importText(store.db, shop, feed('a b c d'))
    const other = await importText(store.db, shop, feed('d e'), { feedName: 'second' })
    assert.deepEqual(other.rejections, [
      { row: 1, item: 'd', reason: 'id is an item of the feed "main" of this advertiser' },
    ])
    for (const _ of [1, 2]) await importText(store.db, shop, feed('a b c'))
    const taken = await importText(store.db, shop, feed('d e'), { feedName: 'second' })
    assert.deepEqual([taken.counts.added, taken.counts.unchanged], [1, 1])
    assert.equal(await idsOf(shop), 'a b c d e')
  })

  test('another campaign takes all offers of the feed with it', async () => {
    const shop = await newShop()
    await importText(store.db, shop, feed('a b'))
    const campaignId = (await newShop()).campaignId
    const { counts } = await importText(store.db, { ...shop, campaignId }, feed('a b'))
    assert.equal(counts.changed, 2)
    assert.deepEqual(new Set((await offersOf(shop)).map((offer) => offer.campaign_id)), new Set([campaignId]))
  })
})

test('a feed with a sale in another currency publishes every other row, and says which one was rejected', async () => {
  const shop = await newShop()
  const rows = [itemOf('a', { sale_price: '39.00 USD' }), itemOf('b', { sale_price: '39.00 EUR' })]
  const { rejections } = await importText(store.db, shop, jsonLines(rows))
  const reason = 'sale_price is in USD and price in EUR: write both in one currency'
  assert.deepEqual(rejections, [{ row: 1, item: 'a', reason }])
  assert.deepEqual(
    (await offersOf(shop)).map(({ item_id, price, currency }) => [item_id, price, currency]),
    [['b', '39.00', 'EUR']],
  )
})

test('what a person decided holds for new prices, and not for new words', async () => {
  const shop = await newShop()
  const claim = { title: 'The #1 desk lamp' }
  await importText(store.db, shop, feed('a', claim))
  const [pending] = await offersOf(shop)
  assert.equal(pending?.review, 'pending')
  await reviewOffers(store.db, [pending?.id ?? ''], { review: 'approved', reason: 'award of 2026' })
  for (const [fields, review] of [
    [claim, 'approved'],
    [{ ...claim, price: '39 EUR' }, 'approved'],
    [{ ...claim, description: 'Another promise.' }, 'pending'],
    [{ title: 'A desk lamp' }, 'approved'],
  ] as const) {
    await importText(store.db, shop, feed('a', fields))
    assert.equal((await offersOf(shop))[0]?.review, review, JSON.stringify(fields))
  }
})

describe('while an import runs', () => {
  /** A feed whose second half waits until it is told. */
  function slowFeed(first: string, second: string) {
    const { promise: goOn, resolve: release } = Promise.withResolvers<void>()
    const { promise: isRead, resolve: read } = Promise.withResolvers<void>()
    async function* bytes(): AsyncGenerator<Buffer> {
      yield Buffer.from(first)
      read()
      await goOn
      yield Buffer.from(second)
    }
    return { bytes: bytes(), isRead, release }
  }

  test('readers see the old version until the new one is whole, and a second import is refused in words', async () => {
    const shop = await newShop()
    await importText(store.db, shop, feed('a b c d'))
    const filler = `${' '.repeat(70_000)}\n`
    const slow = slowFeed(feed('e f') + filler, feed('a b c d'))
    const running = importText(store.db, shop, '', { bytes: slow.bytes })
    await slow.isRead
    assert.equal(await idsOf(shop), 'a b c d')
    const refusal = await importText(store.db, shop, feed('a')).catch((error: unknown) => error)
    assert.ok(refusal instanceof FeedError && /Another import of the feed "main" is running/.test(refusal.message))
    await importText(store.db, shop, feed('z'), { feedName: 'second' })
    slow.release()
    assert.equal((await running).counts.added, 2)
    assert.equal(await idsOf(shop), 'a b c d e f z')
  })

  test('no transaction is open while the file is read, because matchers would wait for it', async () => {
    const shop = await newShop()
    const slow = slowFeed(feed(Array.from({ length: 1_500 }, (_, n) => `i${n}`).join(' ')), feed('last'))
    const { promise: isStaged, resolve: onProgress } = Promise.withResolvers<unknown>()
    const running = importText(store.db, shop, '', { bytes: slow.bytes, onProgress })
    await isStaged
    const { rows } = await sql<{ n: number }>`select count(*)::int as n from pg_stat_activity
      where datname = current_database() and application_name = 'feeds test' and pid <> pg_backend_pid()
        and (backend_xid is not null or state like 'idle in transaction%')`.execute(store.db)
    assert.deepEqual(rows, [{ n: 0 }])
    slow.release()
    assert.equal((await running).counts.added, 1_501)
  })

  test('a feed that breaks in the middle leaves the old version, and says why', async () => {
    const shop = await newShop()
    await importText(store.db, shop, feed('a b'))
    await assert.rejects(importText(store.db, shop, `[${JSON.stringify(itemOf('c'))},{"id":`), FeedError)
    assert.equal(await idsOf(shop), 'a b')
    const [run] = await listFeedRuns(store.db, { limit: 1 })
    assert.partialDeepStrictEqual(run, { state: 'failed', rows_read: 1n })
    assert.match(run?.reason ?? '', /cut off/)
    assert.equal((await importText(store.db, shop, feed('a b c'))).counts.added, 1)
  })

  test('an import that is killed leaves the old version, and the next one begins at once', async () => {
    const shop = await newShop()
    await importText(store.db, shop, feed('a b'))
    const child = fork(join(import.meta.dirname, '../support/endless-import.ts'), [JSON.stringify(shop), database.url])
    const [message] = (await once(child, 'message')) as [string]
    assert.equal(message, 'staged')
    child.kill('SIGKILL')
    await once(child, 'exit')
    assert.equal(await idsOf(shop), 'a b')
    // The server notices that the connection is gone when it next reads from it.
    let next: Awaited<ReturnType<typeof importText>> | undefined
    for (let tries = 0; next === undefined && tries < 50; tries++) {
      next = await importText(store.db, shop, feed('a b c')).catch(() => undefined)
      if (next === undefined) await sleep(100)
    }
    assert.equal(next?.counts.added, 1)
    const runs = await listFeedRuns(store.db, { limit: 2 })
    assert.deepEqual(
      runs.map(({ state, reason }) => [state, reason]),
      [
        ['published', null],
        ['failed', 'It ended before it was complete.'],
      ],
    )
  })
})

test('a feed is read in pieces: 60 MB of it fit into a heap of 40 MB', async () => {
  const shop = await newShop()
  const directory = await mkdtemp(join(tmpdir(), 'parley-feed-'))
  try {
    const path = join(directory, 'large.tsv')
    const filler = 'x'.repeat(9_900)
    const rows = Array.from({ length: 1_000 }, (_, n) => {
      return `i${n}\tDesk lamp ${n}\tBright\thttps://nordlicht.example/${n}\t49.00 EUR\tin stock\ten\t${filler}\n`
    })
    await writeFile(path, 'id\ttitle\tdescription\tlink\tprice\tavailability\tlanguage\tcustom_label_0\n')
    for (let part = 0; part < 6; part++) {
      await appendFile(path, rows.map((row) => `p${part}${row}`).join(''))
    }
    const arguments_ = [JSON.stringify(shop), database.url, path]
    const child = fork(join(import.meta.dirname, '../support/measured-import.ts'), arguments_, {
      execArgv: ['--max-old-space-size=40'],
    })
    const ended = once(child, 'exit').then(() => ['it ended'])
    const [result] = (await Promise.race([once(child, 'message'), ended])) as [unknown]
    assert.partialDeepStrictEqual(result, { added: 6_000 })
    const { grownMb } = result as { grownMb: number }
    assert.ok(grownMb < 150, `it grew by ${grownMb} MB`)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})
