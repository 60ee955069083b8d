/**
 * `npm run screenshots`: takes the pictures in docs/images again, of the pages as they are now, with the data that was
 * recorded. With `--record` that is made anew first, by the real console; names of pictures leave the others as they are.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { chromium, type BrowserContext } from 'playwright-core'
import { ORIGIN, type Person } from '../../support/console.ts'
import { freePort } from '../../support/free-port.ts'
import { globalSetup, globalTeardown } from '../../support/global-setup.ts'
import { createBrowserWorld } from './browser-world.ts'
import { openCannedConsole } from './canned-console.ts'
import { IMAGES, openFor, PICTURES, shoot, type Picture } from './docs-pictures.ts'
import { furnish, type Furnished } from './furnish.ts'
import { listen, readRecording, replay, writeRecording } from './recording.ts'
import { copyOfWeb } from './watched-page.ts'

const { values, positionals } = parseArgs({
  options: { record: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const unknown = positionals.filter((name) => !PICTURES.some((picture) => picture.name === name))
if (unknown.length > 0) throw new Error(`there is no picture ${unknown.join(', ')}`)
const wanted = PICTURES.filter(({ name }) => positionals.length === 0 || positionals.includes(name))

if (values.record) await recordAll()
await takeAll()

/** In a world with a real database, gateway and simulated provider. */
async function recordAll(): Promise<void> {
  await globalSetup()
  // The playground asks the gateway at its public address.
  const port = String(await freePort())
  const world = await createBrowserWorld({
    env: { PARLEY_PORT: port, PARLEY_PUBLIC_URL: `http://127.0.0.1:${port}` },
  })
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      `--host-resolver-rules=MAP ${new URL(ORIGIN).hostname} ${new URL(world.consoleUrl).host}`,
      `--unsafely-treat-insecure-origin-as-secure=${ORIGIN}`,
    ],
  })
  try {
    const made = await furnish(world)
    await sql`update models set enabled = false where owned_by = 'simulator'`.execute(world.store.db)
    for (const picture of wanted) {
      const context = await openFor(browser, picture, ORIGIN)
      await context.addCookies(cookiesOf(made.person))
      await record(picture, made, context, world.consoleUrl)
      // A request that the page repeats at times may be under way.
      await context.unrouteAll({ behavior: 'ignoreErrors' })
      await context.close()
      process.stdout.write(`recorded ${picture.name}\n`)
    }
  } finally {
    await browser.close()
    await world.close()
    await globalTeardown()
  }
}

function cookiesOf({ cookies }: Person) {
  return [...cookies].map(([name, value]) => ({ name, value, url: ORIGIN }))
}

async function record(picture: Picture, made: Furnished, context: BrowserContext, consoleUrl: string): Promise<void> {
  const answers = await listen(context, consoleUrl)
  const path = picture.path(made)
  const at = new Date(Math.floor(Date.now() / 1_000) * 1_000)
  const page = await context.newPage()
  await page.clock.setFixedTime(at)
  await shoot(page, picture, path)
  await writeRecording(picture.name, { at: at.toISOString(), path, answers, words: [] })
}

async function takeAll(): Promise<void> {
  await mkdir(IMAGES, { recursive: true })
  const server = await openCannedConsole(await copyOfWeb(), {})
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
  try {
    for (const picture of wanted) {
      const { image, words } = await replay(browser, server.url, picture)
      await writeFile(join(IMAGES, `${picture.name}.png`), image)
      await writeRecording(picture.name, { ...(await readRecording(picture.name)), words })
      process.stdout.write(`took docs/images/${picture.name}.png\n`)
    }
  } finally {
    await browser.close()
    await server.close()
  }
}
