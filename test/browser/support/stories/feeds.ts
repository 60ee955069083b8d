import type { Page } from 'playwright-core'
import type { Scene } from '../page-picture.ts'
import { ADVERTISER_OF_MINE, FEED, UPLOAD } from '../replies/ids.ts'
import { CHECKED_UPLOAD, UPLOAD_REPORT } from '../replies/feeds.ts'
import { choose, conflict, fill, inDialog, pick, press, wrong } from './steps.ts'

const of = (path: string) => `/advertisers/${ADVERTISER_OF_MINE}${path}`
const FEEDS = of('/feeds')
const ONE = of(`/feeds/${FEED}`)
const UPLOADED = of(`/feeds/uploads/${UPLOAD}`)
const MENU = 'Actions for All lamps'
const NEW_ADDRESS = 'https://lamps.example.com/new.xml'
const uploadThat = (change: Partial<typeof CHECKED_UPLOAD>) => ({
  'GET /api/advertisers/:advertiser/feed-uploads/:upload': { ...CHECKED_UPLOAD, ...change },
})

async function addByAddress(page: Page): Promise<void> {
  await press(page, 'Add by address')
  await choose(page, 'How often', 'Every hour')
  await inDialog(page, 'Add feed', { Name: 'Spots', Address: NEW_ADDRESS, Currency: 'eur' })
}

async function upload(page: Page): Promise<void> {
  await press(page, 'Upload file')
  const file = { name: 'lamps.csv', mimeType: 'text/csv', buffer: Buffer.from('id,title\n1,Lamp\n') }
  await page.getByLabel('File', { exact: true }).setInputFiles(file)
}

export const FEED_STORIES: Record<string, Scene> = {
  'a feed by address': { path: FEEDS, act: addByAddress },
  'a feed by address with nothing filled in': {
    path: FEEDS,
    act: async (page) => {
      await press(page, 'Add by address')
      await inDialog(page, 'Add feed')
    },
  },
  'a feed by an address at which there is none': {
    path: FEEDS,
    replies: {
      'POST /api/advertisers/:advertiser/feed-address-checks': {
        problem: 'Its server answered with status 404.',
        format: null,
      },
    },
    act: addByAddress,
  },
  'a feed by address whose name is taken': {
    path: FEEDS,
    replies: { 'POST /api/advertisers/:advertiser/campaigns/:campaign/feeds': wrong('name') },
    act: addByAddress,
  },
  'a feed with another address': {
    path: FEEDS,
    act: async (page) => {
      await pick(page, MENU, 'Edit…')
      await inDialog(page, 'Save', { Address: NEW_ADDRESS })
    },
  },
  'a feed of uploaded files that is fetched from now on': {
    path: FEEDS,
    act: async (page) => {
      await pick(page, 'Actions for Clearance', 'Fetch from an address…')
      await inDialog(page, 'Add feed', { Address: NEW_ADDRESS })
    },
  },
  'a feed that is fetched now': { path: FEEDS, act: (page) => pick(page, MENU, 'Fetch now') },
  'a feed that is paused': { path: FEEDS, act: (page) => pick(page, MENU, 'Pause') },
  'a feed that somebody else has paused': {
    path: FEEDS,
    replies: { 'PUT /api/advertisers/:advertiser/feeds/:feed/paused': conflict },
    act: (page) => pick(page, MENU, 'Pause'),
  },
  'a feed that is removed, from its own page': {
    path: ONE,
    act: async (page) => {
      await pick(page, MENU, 'Remove…')
      await inDialog(page, 'Remove feed')
    },
  },
  'a refused removal of most offers, confirmed': { path: ONE, act: (page) => press(page, 'Fetch and publish') },
  'an uploaded file': {
    path: FEEDS,
    act: async (page) => {
      await upload(page)
      await inDialog(page, 'Upload and check')
    },
  },
  'an uploaded file of a new feed': {
    path: FEEDS,
    act: async (page) => {
      await upload(page)
      await choose(page, 'Feed', 'A new feed')
      await fill(page, { Name: 'Spots' })
      await inDialog(page, 'Upload and check')
    },
  },
  'an upload without a file': {
    path: FEEDS,
    act: async (page) => {
      await press(page, 'Upload file')
      await inDialog(page, 'Upload and check')
    },
  },
  'an uploaded file that is published': { path: UPLOADED, act: (page) => press(page, 'Publish') },
  'an uploaded file that is discarded': { path: UPLOADED, act: (page) => press(page, 'Discard') },
  'an uploaded file that would withdraw most offers, confirmed': {
    path: UPLOADED,
    replies: uploadThat({
      report: {
        ...UPLOAD_REPORT,
        removed: 240,
        refusal: 'This run would remove 240 of 418 offers (57%), so nothing was changed.',
      },
    }),
    act: async (page) => {
      await page.getByRole('checkbox', { name: /Withdraw 240/ }).check()
      await press(page, 'Publish')
    },
  },
  'an uploaded file that cannot be read': {
    path: UPLOADED,
    replies: uploadThat({ state: 'failed', problem: 'It is a page, not a feed.', report: null }),
    act: (page) => page.getByText('Nothing was changed.').waitFor(),
  },
  'an uploaded file that is published by now': {
    path: UPLOADED,
    replies: uploadThat({ state: 'published' }),
    act: (page) => page.getByText('The file is published.').waitFor(),
  },
  'offers that are stopped by reports, of one feed': {
    path: of('/offers'),
    act: async (page) => {
      await choose(page, 'State', 'Stopped by reports')
      await choose(page, 'Feed', 'Clearance')
    },
  },
}
