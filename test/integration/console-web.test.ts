import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { createConsoleWorld, type ConsoleWorld } from '../support/console.ts'

const FIRST_PAGE = '<!doctype html><title>app</title>'
const SCRIPT = `let app = '${'something to compress '.repeat(100)}'`
const OUTSIDE = 'nobody may read this'
const IMMUTABLE = 'public, max-age=31536000, immutable'
const HTML = { accept: 'text/html' }

let world: ConsoleWorld
let folder: string

before(async () => {
  // Names that a careless check takes for those of the web app's own files.
  folder = await mkdtemp(join(tmpdir(), 'parley-web-'))
  const webRoot = join(folder, 'assets/dist')
  await mkdir(join(webRoot, 'assets'), { recursive: true })
  await writeFile(join(folder, 'assets/outside.js'), OUTSIDE)
  for (const [path, text] of [
    ['index.html', FIRST_PAGE],
    ['assets/app-1a2b.js', SCRIPT],
  ] as const) {
    await writeFile(join(webRoot, path), text)
    await writeFile(join(webRoot, `${path}.br`), brotliCompressSync(text))
    await writeFile(join(webRoot, `${path}.gz`), gzipSync(text))
  }
  await writeFile(join(webRoot, 'assets/tiny-3c4d.js'), 'let tiny')
  world = await createConsoleWorld({ roles: ['console'], webRoot })
})
after(async () => {
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

interface Got {
  status: number | undefined
  headers: IncomingHttpHeaders
  bytes: Buffer
}

/** Paths are sent as they are written, and answers are not unpacked: `fetch` would do both. */
async function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  const { hostname, port } = new URL(world.consoleUrl)
  const sent = request({ hostname, port, path, method, headers, agent: false }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode, headers: response.headers, bytes: Buffer.concat(await response.toArray()) }
}

function encodingOf({ status, headers }: Got) {
  return [status, headers['content-encoding'], headers['content-type'], headers['cache-control'], headers.vary]
}

test('a file is sent in the best encoding that the browser takes, with the headers of the file itself', async () => {
  const javascript = 'application/javascript; charset=utf-8'
  for (const [accepted, encoding, unpack] of [
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['gzip;q=1.0, br;q=0', 'gzip', gunzipSync],
    ['deflate', undefined, (bytes: Buffer) => bytes],
    ['identity', undefined, (bytes: Buffer) => bytes],
    ['', undefined, (bytes: Buffer) => bytes],
  ] as const) {
    const got = await get('/assets/app-1a2b.js', { 'accept-encoding': accepted })
    assert.deepEqual(encodingOf(got), [200, encoding, javascript, IMMUTABLE, 'accept-encoding'], accepted)
    assert.equal(unpack(got.bytes).toString(), SCRIPT)
    const head = await get('/assets/app-1a2b.js', { 'accept-encoding': accepted }, 'HEAD')
    assert.deepEqual([encodingOf(head), head.bytes.length], [encodingOf(got), 0])
  }
  const plain = await get('/assets/app-1a2b.js')
  assert.deepEqual([plain.headers['content-encoding'], plain.bytes.toString()], [undefined, SCRIPT])
})

test('what the build did not compress is sent as it is', async () => {
  const got = await get('/assets/tiny-3c4d.js', { 'accept-encoding': 'gzip, br' })
  assert.deepEqual(encodingOf(got).slice(0, 2), [200, undefined])
  assert.equal(got.bytes.toString(), 'let tiny')
})

test('the first page is compressed and asked for again each time, wherever the web app is installed', async () => {
  for (const path of ['/', '/projects/1/keys', '/index.html']) {
    const got = await get(path, { ...HTML, 'accept-encoding': 'br' })
    assert.deepEqual(encodingOf(got), [200, 'br', 'text/html; charset=utf-8', 'no-cache', 'accept-encoding'], path)
    assert.equal(brotliDecompressSync(got.bytes).toString(), FIRST_PAGE)
    const known = { ...HTML, 'accept-encoding': 'br', 'if-none-match': String(got.headers.etag) }
    assert.equal((await get(path, known)).status, 304)
    assert.equal((await get(path, { ...known, 'accept-encoding': 'gzip' })).status, 200, 'another encoding is no match')
  }
})

test('an unknown file is 404 in JSON, also for a browser, and is not kept', async () => {
  for (const path of [
    '/assets/gone-1a2b.js',
    '/assets/',
    '/assets',
    '/assets/app-1a2b.js.br',
    '/assets/app-1a2b.js.gz',
  ]) {
    const { status, headers, bytes } = await get(path, { ...HTML, 'accept-encoding': 'br' })
    assert.deepEqual([status, headers['content-type']], [404, 'application/json; charset=utf-8'], path)
    assert.equal((JSON.parse(bytes.toString()) as { statusCode: number }).statusCode, 404)
    assert.equal(headers['cache-control'], undefined)
  }
})

test('no address leads out of the folder of the web app', async () => {
  const up = ['..', '%2e%2e', '..%2f..', '%2e%2e%2f%2e%2e', '..%5c..', '....//..', '..%00', '%252e%252e']
  for (const step of up)
    for (const path of [`/${step}/outside.js`, `/assets/${step}/${step}/outside.js`, `//${step}/outside.js`])
      for (const accept of ['*/*', 'text/html']) {
        const { status, bytes } = await get(path, { accept })
        assert.ok(!bytes.includes(OUTSIDE), path)
        // A path that looks like a page of the app is answered with its first page, which then says that there is no such page.
        const isPage = accept === 'text/html' && !path.startsWith('/assets/')
        assert.deepEqual([status, bytes.toString() === FIRST_PAGE], isPage ? [200, true] : [404, false], path)
      }
  const absolute = await get(`/${join(folder, 'assets/outside.js')}`)
  assert.deepEqual([absolute.status, absolute.bytes.includes(OUTSIDE)], [404, false])
})
