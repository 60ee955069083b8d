import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { createBrowserWorld } from './support/browser-world.ts'

const DIST = join(import.meta.dirname, '../../dashboard/dist')
const ASSETS = join(DIST, 'assets')
const FIRST_PAGE_BYTES_MAX = 150_000
const ANY_PAGE_BYTES_MAX = 200_000

const names = readdirSync(ASSETS)
const page = readFileSync(join(DIST, 'index.html'), 'utf8')

/** Everything that must have arrived before these files run. Lazy imports are not part of it. */
function neededBy(files: string[], found = new Set<string>()): Set<string> {
  for (const file of files) {
    if (found.has(file)) continue
    found.add(file)
    const code = readFileSync(join(ASSETS, file), 'utf8')
    neededBy(
      Array.from(code.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g), (match) => match[1] ?? ''),
      found,
    )
  }
  return found
}

function chunk(name: string): string {
  const file = names.find((each) => each.startsWith(`${name}-`) && each.endsWith('.js'))
  assert.ok(file, `there is no ${name}-*.js: was the web app built?`)
  return file
}

/** As browsers get it over HTTPS: the build leaves a .br beside every file. */
function compressedBytesOf(files: Iterable<string>): number {
  return Array.from(
    files,
    (file) => statSync(join(ASSETS, names.includes(`${file}.br`) ? `${file}.br` : file)).size,
  ).reduce((a, b) => a + b, 0)
}

const entry = Array.from(page.matchAll(/src="\/assets\/([^"]+\.js)"/g), (match) => match[1] ?? '')

test('the sign-in loads at most 150 KB of compressed JavaScript', () => {
  const bytes = compressedBytesOf(neededBy([...entry, chunk('frame'), chunk('sign-in-page')]))
  assert.ok(bytes > 50_000 && bytes <= FIRST_PAGE_BYTES_MAX, `${bytes} bytes`)
})

test('any page behind it, loaded first, takes at most 200 KB before its charts', () => {
  const pages = names.filter((name) => /-page-[^.]+\.js$/.test(name))
  assert.ok(pages.length >= 8)
  for (const each of pages) {
    const bytes = compressedBytesOf(neededBy([...entry, chunk('shell'), each]))
    assert.ok(bytes <= ANY_PAGE_BYTES_MAX, `${each}: ${bytes} bytes`)
  }
})

test('the page has no inline script or style, and its faces are loaded with it', () => {
  assert.equal(Array.from(page.matchAll(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/g)).length, 0)
  assert.match(page, /<link rel="preload" as="font" type="font\/woff2" href="\/assets\/inter-latin/)
  assert.ok(page.indexOf('/theme.js') < page.indexOf('type="module"'), 'the theme is chosen before anything is drawn')
})

test('what is sent compressed is there in both encodings', () => {
  for (const name of names.filter((each) => /\.(?:js|css)$/.test(each))) {
    if (readFileSync(join(ASSETS, name)).length < 1_024) continue
    for (const suffix of ['.br', '.gz']) assert.ok(names.includes(`${name}${suffix}`), `${name}${suffix}`)
  }
})

/** The paths of the scripts that a browser asks for until the network is idle. */
async function scriptsOf(page: Page, path: string): Promise<string[]> {
  const scripts: string[] = []
  page.on('request', (request) => {
    if (request.resourceType() === 'script') scripts.push(new URL(request.url()).pathname)
  })
  await page.goto(path, { waitUntil: 'networkidle' })
  return scripts
}

/** The body as it goes over the wire. Browsers ask for Brotli over HTTPS alone, so it is asked for here. */
function bytesOverHttp(url: string): Promise<{ bytes: number; encoding: string | undefined }> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { 'accept-encoding': 'gzip, deflate, br' } }, (response) => {
      let bytes = 0
      response.on('data', (chunk: Buffer) => (bytes += chunk.length))
      response.on('end', () => resolve({ bytes, encoding: response.headers['content-encoding'] }))
      response.on('error', reject)
    }).on('error', reject)
  })
}

test('what a browser really loads first comes as Brotli, and stays within these bounds', async (t) => {
  const world = await createBrowserWorld()
  t.after(() => world.close())
  const stranger = await world.visit()
  const { page, project } = await world.signedUp()
  const loads: [path: string, scripts: string[], most: number][] = [
    ['/sign-in', await scriptsOf(stranger.page, '/sign-in'), FIRST_PAGE_BYTES_MAX],
    ['home', await scriptsOf(page, `/projects/${project.id}`), ANY_PAGE_BYTES_MAX],
  ]
  for (const [path, scripts, most] of loads) {
    const answers = await Promise.all(scripts.map((script) => bytesOverHttp(`${world.consoleUrl}${script}`)))
    for (const [n, { bytes, encoding }] of answers.entries()) {
      assert.ok(encoding === 'br' || bytes < 1_024, `${scripts[n]}: ${bytes} bytes, ${encoding}`)
    }
    const sum = answers.reduce((all, { bytes }) => all + bytes, 0)
    t.diagnostic(`${path}: ${sum} bytes in ${scripts.length} scripts`)
    assert.ok(sum > 50_000 && sum <= most, `${path} loads ${sum} bytes`)
  }
})
