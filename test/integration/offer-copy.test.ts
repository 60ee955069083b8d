/** Copy that denies being an ad, or borrows the voice of the assistant, the publisher or Parley, imported for real. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Store } from '../../src/store/database.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { addShop, importText, itemOf, jsonLines, type Item } from '../support/feeds.ts'

interface Line {
  kind?: string
  language: string
  text: string
}
const linesOf = (name: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, `../fixtures/feeds/${name}.json`), 'utf8')) as Line[]
const HOSTILE = linesOf('hostile-copy')
const HARMLESS = linesOf('harmless-copy')

let database: TestDatabase
let store: Store

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'offer copy test', poolMax: 2 })
})
after(async () => {
  await store.close()
  await database.drop()
})

/** Imports the lines and returns the outcome of each, in the order given: 'approved', 'pending', or 'refused'. */
async function imported(name: string, lines: readonly Line[], fieldsOf: (text: string) => Item): Promise<string[]> {
  const shop = await addShop(store.db, name)
  const items = lines.map(({ text }, n) => itemOf(`${n}`, fieldsOf(text)))
  await importText(store.db, shop, jsonLines(items))
  const offers = await store.db
    .selectFrom('offers')
    .select(['item_id', 'review'])
    .where('advertiser_id', '=', shop.advertiserId)
    .execute()
  const found = new Map(offers.map(({ item_id, review }) => [item_id, review]))
  return lines.map((_, n) => found.get(`${n}`) ?? 'refused')
}

/** Where readers see an advertiser's words: as the headline or as the benefit, each from two fields. */
const PLACES: [string, (text: string) => Item][] = [
  ['title', (title) => ({ title })],
  ['short title', (text) => ({ short_title: text })],
  ['highlight', (text) => ({ product_highlight: text })],
  ['description', (description) => ({ description })],
]

function listed(lines: readonly Line[], outcomes: readonly string[], outcome: string): string {
  return lines
    .filter((_, n) => outcomes[n] === outcome)
    .map(({ language, text }) => `${language}: ${text}`)
    .join('\n')
}

test('both corpora are large, in several languages, and no line is there twice', () => {
  assert.ok(HOSTILE.length >= 120)
  assert.ok(HARMLESS.length >= 80)
  for (const lines of [HOSTILE, HARMLESS]) {
    assert.equal(new Set(lines.map(({ text }) => text)).size, lines.length)
    for (const language of ['en', 'de', 'fr', 'es'])
      assert.ok(lines.filter((line) => line.language === language).length >= 10, language)
  }
})

test('no hostile line is shown to a reader before a person has looked at it, wherever it stands', async (t) => {
  for (const [place, fieldsOf] of PLACES) {
    const outcomes = await imported(`Hostile ${place}`, HOSTILE, fieldsOf)
    const count = (outcome: string) => outcomes.filter((each) => each === outcome).length
    t.diagnostic(`${HOSTILE.length} hostile as ${place}: ${count('refused')} refused, ${count('pending')} to a person`)
    assert.equal(listed(HOSTILE, outcomes, 'approved'), '', place)
  }
})

test('harmless lines are accepted, and few of them cost a person time', async (t) => {
  for (const [place, fieldsOf] of PLACES) {
    const outcomes = await imported(`Harmless ${place}`, HARMLESS, fieldsOf)
    const pending = listed(HARMLESS, outcomes, 'pending')
    const sent = pending === '' ? 0 : pending.split('\n').length
    t.diagnostic(`${HARMLESS.length} harmless as ${place}: ${sent} to a person`)
    assert.equal(listed(HARMLESS, outcomes, 'refused'), '', place)
    assert.ok(sent <= HARMLESS.length * 0.04, pending)
  }
})

test('a denial that is divided between headline and benefit is read as readers read it', async () => {
  const lines = [{ language: 'en', text: 'an ad' }]
  const [outcome] = await imported('Divided', lines, (text) => ({
    short_title: 'This is not',
    product_highlight: text,
  }))
  assert.notEqual(outcome, 'approved')
})
