/** The web app as it was built, and what a page of it does that it must not do. */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { cp, mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { WEB_ROOT } from '../../../src/console/web.ts'

export const PHONE = { width: 360, height: 740 }

/** Copies the build as it is when the tests begin, so that another build during the tests does not remove files under them. */
export async function copyOfWeb(): Promise<string> {
  const page = await readFile(join(WEB_ROOT, 'index.html'), 'utf8').catch(() => '')
  assert.ok(page, 'the web app is not built: run `npm run build` first')
  const copy = await mkdtemp(join(tmpdir(), 'parley-web-'))
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }))
  const copied = await cp(WEB_ROOT, copy, { recursive: true }).then(
    () => readFile(join(copy, 'index.html'), 'utf8'),
    () => '',
  )
  assert.equal(copied, page, 'the web app was being built when the tests began: run them again')
  return copy
}

/**
 * Runs in the page before anything else. Content may move because of what a person does. The browser forgives that for
 * 500 ms after the input; here it is forgiven as well while a change is on its way, and shortly after its answer and
 * after what is read again because of it: a slow server is not a fault of the page.
 */
export const WATCH = `
  window.parleyFaults = []
  const FORGIVEN_MS = 1_000
  // A thousandth is one cell that moves by a few pixels, as when the time in it runs out. Browsers call a tenth good.
  const SEEN_FROM = 0.001
  let lastInputMs = -Infinity
  for (const type of ['pointerdown', 'keydown'])
    window.addEventListener(type, ({ timeStamp }) => (lastInputMs = timeStamp), { capture: true })
  let changesOnTheirWay = 0
  let lastAnsweredMs = -Infinity
  const followsChange = (ms) => changesOnTheirWay > 0 || ms < lastAnsweredMs + FORGIVEN_MS
  const { fetch } = window
  window.fetch = async (address, options) => {
    const ms = performance.now()
    const isChange = (options?.method ?? 'GET') !== 'GET' && ms < lastInputMs + FORGIVEN_MS
    if (!isChange && !followsChange(ms)) return fetch(address, options)
    changesOnTheirWay += 1
    try {
      return await fetch(address, options)
    } finally {
      changesOnTheirWay -= 1
      lastAnsweredMs = performance.now()
    }
  }
  document.addEventListener('securitypolicyviolation', (event) =>
    window.parleyFaults.push('content security policy: ' + event.violatedDirective + ' ' + event.blockedURI))
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.value < SEEN_FROM || entry.hadRecentInput || followsChange(entry.startTime)) continue
      const nodes = entry.sources.map(({ node }) => node && (node.outerHTML ?? node.textContent).slice(0, 160))
      window.parleyFaults.push('layout shift ' + entry.value.toFixed(4) + ' of ' + nodes.join(' | '))
    }
  }).observe({ type: 'layout-shift', buffered: true })
`

const errorsOf = new WeakMap<Page, string[]>()

export function watch(page: Page): void {
  const errors: string[] = []
  errorsOf.set(page, errors)
  page.on('pageerror', (error) => errors.push(`uncaught: ${error.message}`))
  page.on('console', (message) => {
    // The browser writes one such line for every 4xx; whether that is a fault is for the test to say.
    const isAnswer = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isAnswer) errors.push(`console: ${message.text()}`)
  })
}

/** Breaches of the content security policy, layout shifts, uncaught and logged errors since the page was opened. */
export async function faultsOf(page: Page): Promise<string[]> {
  const found = await page.evaluate<string[]>('window.parleyFaults')
  return [...found, ...(errorsOf.get(page) ?? [])]
}
