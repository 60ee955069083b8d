/**
 * Pictures of the console for looking at: `npm run look -- [--to <folder>] [--empty] [path …]`. Without paths,
 * every page. `:project`, `:publisher`, `:conversation`, `:call`, `:failed`, `:advertiser`, `:feed` and `:upload` in a path
 * stand for those of somebody who has been at it for weeks, or, with `--empty`, of one who has just begun.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { newPerson, newProject, type Person } from '../../support/console.ts'
import { globalSetup, globalTeardown } from '../../support/global-setup.ts'
import { createBrowserWorld, PHONE, type BrowserWorld } from './browser-world.ts'
import { furnish } from './furnish.ts'

const BEFORE_SIGN_IN = ['/sign-in', '/sign-up', '/check-mail?email=editor@example.com', '/forgot-password']
const DETAILS = [
  '/projects/:project/calls/:call',
  '/projects/:project/calls/:failed',
  '/projects/:project/conversations/:conversation',
]
const OUTSIDE_NAVIGATION = ['/account', '/new-project', '/invitations', '/no-such-page']
const HEIGHT_MAX = 2_400
const SIZES = { wide: { width: 1280, height: 800 }, phone: PHONE }

const { values, positionals } = parseArgs({
  options: {
    to: { type: 'string', default: '/tmp/screens' },
    empty: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})

interface Host {
  person: Person
  places: Record<string, string>
}

async function host(world: BrowserWorld): Promise<Host> {
  if (values.empty) {
    const person = await newPerson(world)
    const project = await newProject(person, 'Recipes', 'recipes.example.com')
    return { person, places: { project, publisher: person.publisherId } }
  }
  const { person, projectId: project, conversationId: conversation, callId: call, ...others } = await furnish(world)
  const { failedCallId: failed, advertiserId: advertiser, feedId: feed, uploadId: upload } = others
  const places = { project, publisher: person.publisherId, conversation, call, failed, advertiser, feed, upload }
  return { person, places }
}

async function photograph(world: BrowserWorld, { person, places }: Host): Promise<void> {
  const placed = (path: string) => path.replaceAll(/:(\w+)/g, (whole, name: string) => places[name] ?? whole)
  const all = async () => {
    const { page, context } = await world.visitAs(person)
    const paths = [...(await pathsOfNavigation(page)), ...(values.empty ? [] : DETAILS), ...OUTSIDE_NAVIGATION]
    await context.close()
    return paths
  }
  const paths = positionals.length > 0 ? positionals : await all()
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const member = await world.visitAs(person, { viewport, colorScheme })
      for (const path of paths) await shoot(member.page, placed(path), `${nameOf(path)}-${size}-${colorScheme}`)
      await member.context.close()
      if (positionals.length > 0) continue
      const stranger = await world.visit({ viewport, colorScheme })
      for (const path of BEFORE_SIGN_IN) await shoot(stranger.page, path, `${nameOf(path)}-${size}-${colorScheme}`)
      await stranger.context.close()
    }
  }
}

async function pathsOfNavigation(page: Page): Promise<string[]> {
  await page.goto('/')
  const links = page.getByRole('navigation', { name: 'Main' }).first().getByRole('link')
  await links.first().waitFor()
  return links.evaluateAll((all) => all.map((link) => String(link.getAttribute('href'))))
}

async function shoot(page: Page, path: string, name: string): Promise<void> {
  const { width, height } = page.viewportSize() ?? PHONE
  await page.goto(path)
  await page.getByRole('heading').first().waitFor()
  await page.waitForLoadState('networkidle')
  // A page of full length, and not `fullPage`, which catches charts while they are being measured.
  const whole = await page.evaluate<number>('document.documentElement.scrollHeight')
  await page.setViewportSize({ width, height: Math.min(Math.max(whole, height), HEIGHT_MAX) })
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  const file = join(values.to, `${name}.png`)
  await page.screenshot({ path: file })
  await page.setViewportSize({ width, height })
  process.stdout.write(`${file}\n`)
}

/** `/projects/<id>/keys` becomes `keys`, `/publishers/:publisher/usage` becomes `publisher-usage`. */
function nameOf(path: string): string {
  const [pathname = ''] = path.split(/[?#]/)
  return (
    pathname
      .replace(/^\/projects\/(?:[\w-]{36}|:project)/, '')
      .replace(/^\/publishers\/(?:[\w-]{36}|:publisher)/, '/publisher')
      .replace(/^\/advertisers\/(?:[\w-]{36}|:advertiser)/, '/advertiser')
      .replaceAll(/[/:]+/g, '-')
      .replace(/^-/, '') || 'home'
  )
}

await globalSetup()
const world = await createBrowserWorld()
try {
  await mkdir(values.to, { recursive: true })
  await photograph(world, await host(world))
} finally {
  await world.close()
  await globalTeardown()
}
