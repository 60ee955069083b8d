import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fastify from 'fastify'
import type { KyselyPlugin } from 'kysely'
import { adLibraryPages } from '../../src/console/public/ad-library.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { DAY_MS } from '../../src/rules/durations.ts'
import { listShownAds } from '../../src/store/recommendations/ad-library.ts'
import { insertRecommendations, setRecommendationStates } from '../../src/store/recommendations/records.ts'
import { addOffer, type AddedOffer } from '../support/catalogue.ts'
import {
  createConsoleWorld,
  must,
  newPerson,
  newProject,
  openBrowser,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'

const PAGES = join(import.meta.dirname, '../../dashboard')
const CANARY = `canary${randomBytes(6).toString('hex')}`
/** An opened or closed library is looked up again after this. */
const TOLD_MS = 5_500

let world: ConsoleWorld
let owner: Person
let webRoot: string
let tents: AddedOffer

before(async () => {
  webRoot = await mkdtemp(join(tmpdir(), 'parley-web-'))
  for (const page of ['front.html', 'status.html', 'ads.html']) await cp(join(PAGES, page), join(webRoot, page))
  await writeFile(join(webRoot, 'index.html'), '<!doctype html><title>the app</title>')
  world = await createConsoleWorld({ webRoot, roles: ['console', 'gateway'] })
  owner = await newPerson(world)
  tents = await addOffer(world.store.db, {
    advertiser: 'Tent & <Co>',
    domain: 'tent.example',
    headline: 'Trail Two tent',
    benefit: 'light',
  })
  await world.store.db
    .updateTable('advertisers')
    .set({ legal_name: 'Tent and Company Limited' })
    .where('id', '=', tents.advertiserId)
    .execute()
})
after(async () => {
  await world.close()
  await rm(webRoot, { recursive: true, force: true })
})

async function recommend(projectId: string, offer: AddedOffer, times: number, state?: 'delivered' | 'test') {
  const records = Array.from({ length: times }, () => ({
    id: uuidv7(),
    projectId,
    callId: uuidv7(),
    ...offer,
    turn: 1,
    priceNanos: 250_000_000n,
    relevance: 0.75,
    label: 'Ad',
    conversation: Buffer.from(CANARY.padEnd(32).slice(0, 32)),
  }))
  await insertRecommendations(world.store.db, records)
  if (state)
    await setRecommendationStates(
      world.store.db,
      records.map(({ id }) => ({ id, state })),
    )
  return records
}

const stranger = (path: string) => openBrowser(world).send(`GET ${path}`, { headers: { accept: 'text/html' } })

function setPublic(project: string, isPublic: boolean) {
  return must(owner.send(`PUT /api/projects/${project}/monetization/library`, { body: { isPublic } }))
}

test('a library is nobody’s to see until its publisher opens it, is gone when it is closed, and both are in the log', async () => {
  const project = await newProject(owner)
  assert.equal((await stranger(`/ads/${project}`)).status, 404)
  assert.equal((await stranger(`/ads/${project}.json`)).status, 404)
  assert.equal((await stranger(`/ads/${uuidv7()}.json`)).status, 404)
  assert.equal((await stranger('/ads/anything')).status, 404)
  await setPublic(project, true)
  await setPublic(project, true)
  await sleep(TOLD_MS)
  assert.equal((await stranger(`/ads/${project}.json`)).status, 200)
  const { body } = await must(owner.send(`GET /api/projects/${project}/monetization`))
  assert.deepEqual(body.library, { isPublic: true, address: `http://console.test/ads/${project}` })
  await setPublic(project, false)
  await sleep(TOLD_MS)
  assert.equal((await stranger(`/ads/${project}.json`)).status, 404)
  const log = await must(owner.send(`GET /api/publishers/${owner.publisherId}/audit-log`))
  const actions = log.body.items.map(({ action }: { action: string }) => action)
  assert.deepEqual(
    actions.filter((action: string) => action.startsWith('monetization.library')),
    ['monetization.library_closed', 'monetization.library_opened'],
  )
})

test('it says who paid, what was said and how often, tells no small count, and has nothing of conversations, calls or clicks', async () => {
  const project = await newProject(owner)
  await setPublic(project, true)
  const shown = await recommend(project, tents, 12, 'delivered')
  const stove = await addOffer(world.store.db, { advertiser: 'Stoves', domain: 'stoves.example', headline: 'Stove' })
  const few = await recommend(project, stove, 9, 'delivered')
  await recommend(
    project,
    await addOffer(world.store.db, { advertiser: 'T', domain: 't.example', headline: 'Tested' }),
    20,
    'test',
  )
  await recommend(
    project,
    await addOffer(world.store.db, { advertiser: 'A', domain: 'a.example', headline: 'Aborted' }),
    20,
  )
  await recommend(
    await newProject(owner),
    await addOffer(world.store.db, { advertiser: 'E', domain: 'e.example', headline: 'Elsewhere' }),
    20,
    'delivered',
  )
  const json = await stranger(`/ads/${project}.json`)
  const today = new Date().toISOString().slice(0, 10)
  assert.deepEqual(JSON.parse(json.text), {
    project: 'Site',
    days: 90,
    is_partial: false,
    recommendations: [
      {
        advertiser: 'Stoves',
        legal_name: null,
        headline: 'Stove',
        label: 'Ad',
        first_shown: today,
        last_shown: today,
        times_shown: null,
      },
      {
        advertiser: 'Tent & <Co>',
        legal_name: 'Tent and Company Limited',
        headline: 'Trail Two tent',
        label: 'Ad',
        first_shown: today,
        last_shown: today,
        times_shown: 12,
      },
    ],
  })
  assert.equal(json.headers.get('access-control-allow-origin'), '*')
  const page = await stranger(`/ads/${project}`)
  assert.match(page.text, /Tent &#38; &#60;Co&#62; <span>Tent and Company Limited<\/span>/)
  assert.match(page.text, /fewer than 10/)
  for (const { text } of [json, page]) {
    const hidden = [
      CANARY,
      ...[...shown, ...few].flatMap(({ id, callId }) => [id, callId]),
      tents.offerId,
      tents.campaignId,
    ]
    assert.deepEqual(
      hidden.filter((each) => text.includes(each)),
      [],
    )
  }
})

test('who asks for a thousand libraries that are not there makes nobody look up the others again', async () => {
  const project = await newProject(owner)
  await setPublic(project, true)
  await recommend(project, tents, 12, 'delivered')
  let clockMs = 0
  let asked = 0
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: ({ result }) => {
      asked += 1
      return Promise.resolve(result)
    },
  }
  const app = fastify({ trustProxy: true })
  adLibraryPages(app, { db: world.store.db.withPlugin(plugin), webRoot, elapsedMs: () => clockMs })
  const ask = async (id: string, n = 0) => {
    // Each from a network of its own, which nobody keeps from asking.
    const headers = { 'x-forwarded-for': `20.${n >> 8}.${n & 255}.7` }
    return (await app.inject({ url: `/ads/${id}.json`, headers })).statusCode
  }
  assert.equal(await ask(project), 200)
  const first = asked
  for (let n = 1; n <= 1_000; n++) assert.equal(await ask(uuidv7(), n), 404)
  clockMs += 1_000
  const before = asked
  assert.equal(await ask(project), 200)
  assert.deepEqual([first, asked - before], [2, 0])
  await app.close()
})

test('what is older than 90 days is not listed, and never more than so many recommendations are looked at', async () => {
  const project = await newProject(owner)
  await recommend(project, tents, 30, 'delivered')
  const { db } = world.store
  const list = (since: Date, seenMax: number) => listShownAds(db, project, { since, seenMax, adsMax: 10 })
  const lately = new Date(Date.now() - DAY_MS)
  assert.deepEqual(
    (await list(lately, 100)).ads.map(({ times }) => times),
    [30],
  )
  const cut = await list(lately, 20)
  assert.deepEqual([cut.ads.map(({ times }) => times), cut.isMore], [[20], true])
  assert.deepEqual((await list(new Date(Date.now() + DAY_MS), 100)).ads, [])
})
