/**
 * Pictures of pages in words: what is shown, where it leads, what it looks like as far as that has a meaning, and what the
 * API was asked for it. The clock stands still, and whatever waits for a second or longer waits until a test lets it pass.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { chromium, type Browser, type Page } from 'playwright-core'
import { checkReplies, openCannedConsole, type CannedConsole, type Replies } from './canned-console.ts'
import { DETAILS, HOLD_TIMERS } from './page-scripts.ts'
import { changeOf, differenceOf, textOf, type Picture } from './picture-text.ts'
import { REPLIES } from './replies/all.ts'
import { copyOfWeb, faultsOf, watch, WATCH } from './watched-page.ts'

/** So often nothing has changed between two idle moments of the browser. What loads for so long goes on loading. */
const CALM_ROUNDS = 3
const LOADING_ROUNDS = 40

interface PageState {
  signature: string
  isBusy: boolean
  isLoading: boolean
}

export interface Scene {
  path: string
  replies?: Replies
  /**
   * An action of the user. The picture then shows what has changed and what was asked since, with the text that this returns,
   * if any, such as what was copied.
   */
  act?: (page: Page, stand: Stand) => Promise<unknown>
  /** With the navigation, which is the same on every page. */
  isWhole?: boolean
  /** The reads are refused, so the page retries some times before it reports that. */
  isRetried?: boolean
}

/** A page, and what it is told. */
export interface Stand {
  /** Waits until nothing is under way and nothing changes any more. */
  settle(): Promise<void>
  /** Lets everything happen that waits for exactly so long. */
  pass(ms: number): Promise<void>
}

export interface Camera {
  take(t: TestContext, scene: Scene): Promise<void>
  close(): Promise<void>
}

/** Most of the time is spent waiting, so that several pages are looked at. */
export const STANDS = 3

export async function openCamera(): Promise<Camera> {
  assert.deepEqual(checkReplies(REPLIES), [], 'the contract would not let these replies out')
  const webRoot = await copyOfWeb()
  const servers = await Promise.all(Array.from({ length: STANDS }, () => openCannedConsole(webRoot, REPLIES)))
  const hosts = servers.map(({ url }, n) => `MAP ${new URL(originOf(n)).hostname} ${new URL(url).host}`)
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      `--host-resolver-rules=${hosts.join(', ')}`,
      `--unsafely-treat-insecure-origin-as-secure=${hosts.map((_, n) => originOf(n)).join(',')}`,
    ],
  })
  const beginnings = new Map<string, Picture>()
  const free = await Promise.all(
    servers.map(async (server, n) => openStand(await openPage(browser, originOf(n)), server, beginnings)),
  )
  const waiting: ((take: Take) => void)[] = []
  return {
    async take(t, scene) {
      const take = free.pop() ?? (await new Promise<Take>((resolve) => waiting.push(resolve)))
      try {
        compare(t, await take(scene))
      } finally {
        const next = waiting.shift()
        if (next) next(take)
        else free.push(take)
      }
    },
    async close() {
      await browser.close()
      await Promise.all(servers.map((server) => server.close()))
    },
  }
}

/** How many pictures the test has. What is no longer looked at stays in the file until it is made anew. */
export function picturesBeside(test: string): number {
  return readFileSync(`${test}.snapshot`, 'utf8').match(/^exports\[/gm)?.length ?? 0
}

/** Where each page finds the console; pictures call all of them the same. */
function originOf(n: number): string {
  return `http://console${n}.test`
}

/** With the lines that differ: two whole pictures are too much to read. */
function compare(t: TestContext, text: string): void {
  try {
    t.assert.snapshot(text, { serializers: [String] })
  } catch (error) {
    const { actual, expected } = error as { actual?: unknown; expected?: unknown }
    if (typeof actual !== 'string' || typeof expected !== 'string') throw error
    const lines = differenceOf(expected.split('\n'), actual.split('\n'))
    assert.fail(`the picture is another one (see CONTRIBUTING.md when it is meant to be):\n${lines.join('\n')}`)
  }
}

/** A page that is just being left is asked again when the next one is there. */
async function stateOf(page: Page): Promise<PageState> {
  for (;;) {
    try {
      return await page.evaluate<PageState>('window.parleyTimers.idle()')
    } catch (error) {
      if (!/Execution context was destroyed/.test(String(error))) throw error
      await page.waitForLoadState()
    }
  }
}

type Take = (scene: Scene) => Promise<string>

function openStand(page: Page, server: CannedConsole, beginnings: Map<string, Picture>): Take {
  const newFaults = faultsSince(page)
  async function settle(): Promise<void> {
    let before = ''
    for (let calm = 0, rounds = 0; ; rounds += 1) {
      assert.ok(rounds < 2_000, `${page.url()} does not come to rest`)
      const { signature, isBusy, isLoading } = await stateOf(page)
      const now = `${server.requests().length} ${signature}`
      calm = server.underWay() === 0 && !isBusy && now === before ? calm + 1 : 0
      if (calm === (isLoading ? LOADING_ROUNDS : CALM_ROUNDS)) return
      before = now
    }
  }
  const stand: Stand = {
    settle,
    async pass(ms) {
      await page.evaluate(`window.parleyTimers.pass(${ms})`)
      await settle()
    },
  }
  return async ({ path, replies = {}, act, isWhole = false, isRetried = false }) => {
    assert.deepEqual(checkReplies(replies), [], 'the contract would not let these replies out')
    server.play(replies)
    // Another hash alone would leave the page as it is.
    if (path.includes('#')) await page.goto('about:blank')
    await page.mouse.move(0, 0)
    await page.goto(path)
    if (isRetried) await untilToldOf(page)
    await settle()
    // Many stories begin alike. Only what is read decides over that.
    const key = Object.keys(replies).some((each) => each.startsWith('GET ')) ? undefined : path
    const known = act && key !== undefined ? beginnings.get(key) : undefined
    let picture = known ?? (await pictureOf(page, server.requests(), isWhole))
    if (act) {
      const before = picture
      if (key !== undefined) beginnings.set(key, before)
      server.play(replies)
      const got = await act(page, stand)
      await settle()
      picture = changeOf(before, await pictureOf(page, server.requests(), isWhole))
      if (typeof got === 'string') picture.parts.got = got.split('\n')
    }
    picture.parts.faults = await newFaults()
    return textOf(picture).replaceAll(/console\d\.test/g, 'console.test')
  }
}

async function openPage(browser: Browser, baseURL: string): Promise<Page> {
  const context = await browser.newContext({
    baseURL,
    viewport: { width: 1280, height: 800 },
    // Neither the server's nor the code's: whatever forgets to say which it means shows.
    locale: 'de-DE',
    timezoneId: 'Asia/Kolkata',
    reducedMotion: 'reduce',
  })
  await context.addInitScript(WATCH)
  await context.addInitScript(HOLD_TIMERS)
  const page = await context.newPage()
  page.setDefaultTimeout(10_000)
  watch(page)
  return page
}

/** Each call gives the faults in the page since it was loaded, and those that were logged since the last call. */
function faultsSince(page: Page): () => Promise<string[]> {
  let told = 0
  return async () => {
    const inPage = await page.evaluate<string[]>('window.parleyFaults')
    const logged = (await faultsOf(page)).slice(inPage.length)
    const fresh = [...inPage.filter((fault) => !fault.startsWith('layout shift')), ...logged.slice(told)]
    told = logged.length
    return fresh.map((fault) => fault.split('\n')[0] ?? '')
  }
}

/** The pauses between the tries are left out. */
async function untilToldOf(page: Page): Promise<void> {
  const alert = page.getByRole('alert').first()
  for (let rounds = 0; !(await alert.isVisible()); rounds += 1) {
    assert.ok(rounds < 2_000, `${page.url()} does not say what went wrong`)
    await page.evaluate('window.parleyTimers.idle()')
    await page.evaluate('for (const ms of [1000, 2000, 4000]) window.parleyTimers.pass(ms)')
  }
}

async function pictureOf(page: Page, requests: string[], isWhole: boolean): Promise<Picture> {
  const tree = await page.locator('body').ariaSnapshot()
  const details = await page.evaluate<Record<string, string[]>>(DETAILS)
  const intervals = await page.evaluate<number[]>('window.parleyTimers.intervals()')
  return {
    address: page.url().replace(/^http:\/\/[^/]+/, ''),
    parts: {
      title: [await page.title()],
      shown: (isWhole ? tree : withoutNavigation(tree)).split('\n'),
      ...details,
      asked: requests,
      'repeated after ms': intervals.toSorted((a, b) => a - b).map(String),
    },
  }
}

/** Without the block of the sidebar. */
function withoutNavigation(tree: string): string {
  const kept: string[] = []
  let isLeftOut = false
  for (const line of tree.split('\n')) {
    if (line.startsWith('- ')) isLeftOut = line.startsWith('- complementary')
    if (!isLeftOut) kept.push(line)
  }
  return kept.join('\n')
}
