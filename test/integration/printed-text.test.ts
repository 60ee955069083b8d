/** Text by tenants and advertisers, as it comes out on an operator's terminal and in files that people open. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { appendAuditLog } from '../../src/store/accounts/audit-log.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld } from '../support/console.ts'
import { addShop, importText, itemOf, jsonLines } from '../support/feeds.ts'
import { parley } from '../support/commands.ts'
import { here } from '../support/operator.ts'
import { complete, until } from '../support/world.ts'

/** Clears the screen, moves up a line (in one byte and in two), turns text around, hides it, ends a line. */
const NASTY = 'a\u001b[2J\u009b1A\u202eb\u2066c\u200bd\u00ade\u2028f\u{e0041}g\u007f'
const UNSEEN = /(?![\n\t\r\u200c\u200d])[\p{C}\u2028\u2029]/u

let world: ConsoleWorld
let env: Record<string, string>

before(async () => {
  world = await createConsoleWorld()
  env = { DATABASE_URL: String(world.env.DATABASE_URL), PARLEY_SECRET: String(world.env.PARLEY_SECRET) }
})
after(() => world.close())

test('no command prints a character that controls a terminal or turns text around, whoever wrote it', async () => {
  const { db } = world.store
  const shop = await addShop(db, 'Nordlicht')
  await importText(db, shop, jsonLines([itemOf('one')]))
  // As if every check before had failed.
  await sql`alter table offers drop constraint offers_headline_check`.execute(db)
  await db
    .updateTable('offers')
    .set({ headline: NASTY, brand: NASTY, review_reason: NASTY, review: 'pending' })
    .execute()
  await db.updateTable('publishers').set({ name: NASTY }).where('id', '=', world.project.publisherId).execute()
  await db.updateTable('feed_runs').set({ reason: NASTY }).execute()
  await db
    .updateTable('campaigns')
    .set({ context_hints: [NASTY, `two\nlines`] })
    .execute()
  const project = world.project.id
  const body = { model: 'sim-small', messages: [{ role: 'user', content: NASTY }] }
  await (await complete(world, body, { headers: { 'x-conversation-id': 'c' } })).text()
  await until(async () => (await db.selectFrom('messages').select('seq').execute()).length > 0)
  const commands = [
    ['offers', 'list'],
    ['offers', 'show', 'one', '--advertiser', 'Nordlicht'],
    ['offers', 'runs'],
    ['campaign', 'list'],
    ['publisher', 'list'],
    ['project', 'list'],
    ['conversation', 'show', project, 'c'],
    ['offers', 'show', NASTY, '--advertiser', 'Nordlicht'],
  ]
  for (const command of commands)
    for (const args of [command, [...command, '--json']]) {
      const { stdout, stderr } = await here(args, { env })
      assert.ok(stdout.length + stderr.length > 0, args.join(' '))
      assert.doesNotMatch(stdout + stderr, UNSEEN, `${args.join(' ')}:\n${JSON.stringify(stdout + stderr)}`)
    }
  for (const mistyped of [['advertiser', 'show', NASTY], [NASTY]]) {
    const { stderr } = await parley(mistyped, { env })
    assert.match(stderr, /Unknown command/)
    assert.doesNotMatch(stderr, UNSEEN, JSON.stringify(stderr))
  }
  const { stdout } = await here(['offers', 'show', 'one', '--advertiser', 'Nordlicht', '--json'], { env })
  assert.equal((JSON.parse(stdout) as { headline: string }).headline, NASTY, 'programs read what was written')
})

test('a broken feed does not get onto the terminal what nobody sees, by way of the reason', async () => {
  await addShop(world.store.db, 'Names')
  const directory = await mkdtemp(join(tmpdir(), 'parley-names-'))
  try {
    const file = join(directory, 'feed.xml')
    await writeFile(file, '<rss a\u{e0041}="" a\u{e0041}=""></rss>')
    const target = ['--advertiser', 'Names', '--campaign', 'All', '--feed', 'main']
    const { code, stderr } = await here(['offers', 'import', ...target, file], { env })
    assert.equal(code, 1)
    assert.match(stderr, /duplicate attribute/)
    assert.doesNotMatch(stderr, UNSEEN, JSON.stringify(stderr))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})

test('no cell of an exported table is a formula in any spelling, or hides what it says', async () => {
  const owner = await newPerson(world)
  const project = await newProject(owner)
  await setDomainVerified(world.store.db, project, new Date())
  const formulas = ['=1+1', '＝1+1', '＋1', '－1', '＠SUM(A1)', '﹦1', '﹢1', '﹣1', '﹫x']
  const entry = { publisherId: owner.publisherId, projectId: project, actorId: null, actor: 'x', action: 'key.created' }
  const origin = { ip: null, userAgent: NASTY, details: { note: NASTY } }
  // Some of these cannot be names of keys any more. Entries from before that rule are exported all the same.
  for (const subject of [...formulas, NASTY]) await appendAuditLog(world.store.db, { ...entry, ...origin, subject })
  const { text } = await must(owner.send(`GET /api/publishers/${owner.publisherId}/audit-log.csv`))
  assert.doesNotMatch(text, UNSEEN, JSON.stringify(text))
  const cells = text.split(/,|\r\n/).map((cell) => cell.replace(/^"/, ''))
  for (const cell of cells) assert.doesNotMatch(cell.normalize('NFKC').trimStart(), /^[=+@-]/, cell)
  for (const formula of formulas) assert.ok(text.includes(`"'${formula}"`), formula)
})
