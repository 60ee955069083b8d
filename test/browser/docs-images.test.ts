import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { chromium, type Browser } from 'playwright-core'
import { openCannedConsole, type CannedConsole } from './support/canned-console.ts'
import { IMAGES, PICTURES } from './support/docs-pictures.ts'
import { differenceBetween } from './support/image-difference.ts'
import { differenceOf } from './support/picture-text.ts'
import { readRecording, replay } from './support/recording.ts'
import { copyOfWeb } from './support/watched-page.ts'

/** Nobody reads of a page in README or docs and sees another one when they open it. `npm run screenshots` takes them again. */

const ROOT = join(import.meta.dirname, '../..')
/** Another Chromium may draw letters a little differently; a button that moved is more than this. */
const DIFFERENT_SHARE_MAX = 0.01

let browser: Browser
let server: CannedConsole
before(async () => {
  server = await openCannedConsole(await copyOfWeb(), {})
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
})
after(async () => {
  await browser.close()
  await server.close()
})

// Most of the time is spent waiting until a page rests.
describe('the page is what its picture shows: if not, npm run screenshots, and look at', { concurrency: 2 }, () => {
  for (const picture of PICTURES) {
    const file = `docs/images/${picture.name}.png`
    test(file, async () => {
      const { image, words } = await replay(browser, server.url, picture)
      const { words: expected } = await readRecording(picture.name)
      assert.deepEqual(differenceOf(expected, words), [])
      const share = await differenceBetween(browser, readFileSync(join(IMAGES, `${picture.name}.png`)), image)
      assert.ok(share <= DIFFERENT_SHARE_MAX, `${(share * 100).toFixed(2)}% of ${file} looks different`)
    })
  }
})

test('README and docs show every picture that is taken, and no other', () => {
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  const pages = ['README.md', ...docs.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)]
  const shown = pages.flatMap((page) =>
    [...readFileSync(join(ROOT, page), 'utf8').matchAll(/(?<=images\/)[\w-]+(?=\.png)/g)].map(String),
  )
  const taken = PICTURES.map(({ name }) => name).toSorted()
  assert.deepEqual([...new Set(shown)].toSorted(), taken)
  const files = readdirSync(IMAGES).filter((name) => name.endsWith('.png'))
  assert.deepEqual(files.map((name) => name.replace('.png', '')).toSorted(), taken)
})

test('a call that is pictured spends no noticeable time in the gateway', async () => {
  const { words } = await readRecording('call')
  const [, own = ''] =
    /Checked and credit set aside (\S+ \S+)/.exec(words.join(' ').replaceAll(/\s+- text: /g, ' ')) ?? []
  assert.match(own, /^\d{1,2} ms/, words.join('\n'))
})
