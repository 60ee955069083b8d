import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { readTree, sourceFile } from './support/source-tree.ts'
import { unusedAllowances, writesThroughActions } from './support/tidy-writes.ts'
import { subjectsFirst } from './support/tidy-comments.ts'
import { circleIn, folderSizes, SIDEWAYS, sidewaysImports } from './support/tidy-folders.ts'
import { oneBodyPerFunction } from './support/tidy-sql.ts'
import * as tidy from './support/tidy.ts'

type Files = Record<string, string>

interface Examples {
  /** Files with one breach each, and the `path:line` at which it must be noticed. */
  breaches: [where: string, files: Files][]
  lawful: Files
}

const tree = readTree(join(import.meta.dirname, '..'))

/** A rule that cannot fail guards nothing, so each one is also shown files that break it, and their lawful neighbours. */
function law(title: string, rule: tidy.Rule, examples: Examples): void {
  test(title, () => {
    const found = rule(tree)
    assert.ok(found.length === 0, `\n${found.join('\n')}`)
  })
  test(`${title} (breaking it is noticed)`, () => {
    for (const [where, files] of examples.breaches) {
      const found = rule(corpus(files))
      assert.equal(found.length, 1, `one breach expected in ${JSON.stringify(files)}, found ${JSON.stringify(found)}`)
      assert.equal(found[0]?.split(' ')[0], where)
    }
    assert.deepEqual(rule(corpus(examples.lawful)), [])
  })
}

function corpus(files: Files) {
  return Object.entries(files).map(([path, text]) => sourceFile(path, text))
}

function filesIn(folder: string, count: number, ending = '.ts'): Files {
  const names = Array.from({ length: count }, (_, n) => `f${String(n + 1).padStart(2, '0')}${ending}`)
  return Object.fromEntries(names.map((name) => [`${folder}/${name}`, '']))
}

function linesOf(count: number, line = '  work()'): string {
  return `${line}\n`.repeat(count)
}

test('the checks read the repository, not an empty folder', () => {
  const paths = tree.map((file) => file.path)
  assert.ok(paths.includes('package.json') && paths.includes('test/tidy.test.ts'))
  assert.ok(!paths.some((path) => path.includes('node_modules')))
  assert.ok(tree.flatMap((file) => file.imports).some(({ target }) => target === 'test/support/tidy.ts'))
})

test('strings, comments and regular expressions are not taken for code', () => {
  const text = [
    `// import a from './comment.ts'`,
    `const b = "import './string.ts'" + 'it\\'s'`,
    'const c = `import "./template.ts" ${d(`nested ${"}"}`)} select 1`',
    `const e = /['"\`]/.test(b) || 4 / 2 / 1`,
    `/* import './block.ts' */ import { real } from './real.ts'`,
    `const late = await import('./late.ts')`,
  ].join('\n')
  const file = sourceFile('src/store/x.ts', text)
  assert.deepEqual(
    file.imports.map(({ target }) => target),
    ['src/store/real.ts', 'src/store/late.ts'],
  )
  assert.equal(file.code.length, text.length)
  assert.deepEqual(
    file.templates.map((template) => template.text),
    ['nested ?', 'import "./template.ts" ? select 1'],
  )
})

law(
  'imports point one way: from planes to actions, providers, recommend and store, and from those to rules and platform',
  tidy.importDirection,
  {
    breaches: [
      ['src/gateway/a.ts:2', { 'src/gateway/a.ts': `import '../rules/x.ts'\nimport { b } from '../console/b.ts'` }],
      ['src/cli/a.ts:1', { 'src/cli/a.ts': `import type { B } from '../gateway/b.ts'` }],
      ['src/store/a.ts:1', { 'src/store/a.ts': `import { b } from '../providers/b.ts'` }],
      ['src/store/a.ts:1', { 'src/store/a.ts': `import { b } from '../recommend/b.ts'` }],
      ['src/store/a.ts:1', { 'src/store/a.ts': `import { b } from '../actions/b.ts'` }],
      ['src/actions/a.ts:1', { 'src/actions/a.ts': `import { b } from '../console/b.ts'` }],
      ['src/providers/a.ts:1', { 'src/providers/a.ts': `import { b } from '../gateway/b.ts'` }],
      ['src/rules/a.ts:1', { 'src/rules/a.ts': `import { b } from '../platform/b.ts'` }],
      ['src/platform/a.ts:1', { 'src/platform/a.ts': `import { b } from '../rules/b.ts'` }],
      ['src/worker/a.ts:1', { 'src/worker/a.ts': `import { config } from '../config.ts'` }],
      ['src/console/a.ts:1', { 'src/console/a.ts': `import { b } from '../gateway/b.ts'` }],
      ['src/cli/a.ts:1', { 'src/cli/a.ts': `const { b } = await import('../console/b.ts')` }],
      ['src/config.ts:1', { 'src/config.ts': `import { a } from './store/a.ts'` }],
      ['src/platform/a.ts:1', { 'src/platform/a.ts': `import type { Metrics } from '../metrics.ts'` }],
      ['src/store/a.ts:1', { 'src/store/a.ts': `import type { Metrics } from '../metrics.ts'` }],
      ['src/gateway/a.ts:1', { 'src/gateway/a.ts': `import { createMetrics } from '../metrics.ts'` }],
      ['src/metrics.ts:1', { 'src/metrics.ts': `import { a } from './gateway/a.ts'` }],
      ['src/cli/a.ts:1', { 'src/cli/a.ts': `import { main } from '../main.ts'` }],
      ['src/cli/a.ts:1', { 'src/cli/a.ts': `import { serve } from '../serve.ts'` }],
      ['src/worker/a.ts:1', { 'src/worker/a.ts': `import { openStores } from '../stores.ts'` }],
      ['src/stores.ts:1', { 'src/stores.ts': `import { a } from './worker/a.ts'` }],
      ['src/novel/a.ts:1', { 'src/novel/a.ts': `import { b } from '../rules/b.ts'` }],
      ['src/main.ts:1', { 'src/main.ts': `import { seed } from '../scripts/seed.ts'` }],
      ['src/store/a.test.ts:1', { 'src/store/a.test.ts': `const { b } = await import('../../test/support/b.ts')` }],
      ['simulator/a.ts:1', { 'simulator/a.ts': `import { b } from '../src/rules/b.ts'` }],
      ['dashboard/src/a.tsx:1', { 'dashboard/src/a.tsx': `import { b } from '../../src/console/contract.ts'` }],
      ['dashboard/src/a.ts:1', { 'dashboard/src/a.ts': `import type { B } from '../../src/rules/money.ts'` }],
      ['src/console/a.ts:1', { 'src/console/a.ts': `import type { B } from '../../dashboard/src/b.ts'` }],
    ],
    lawful: {
      'src/main.ts': `import './cli/a.ts'\nimport './serve.ts'\nimport './store/a.ts'`,
      'src/serve.ts': `import './config.ts'\nimport './gateway/a.ts'\nimport './store/a.ts'\nimport './stores.ts'`,
      'src/stores.ts': `import './config.ts'\nimport './store/a.ts'`,
      'src/gateway/a.ts': `import './b.ts'\nimport '../store/a.ts'\nimport '../providers/a.ts'\nimport '../rules/a.ts'`,
      'src/cli/a.ts': `import '../config.ts'\nimport '../recommend/a.ts'`,
      'src/worker/a.ts': `import '../actions/a.ts'\nimport type { Metrics } from '../metrics.ts'`,
      'src/actions/a.ts': `import '../store/a.ts'\nimport '../rules/a.ts'`,
      'src/recommend/a.ts': `import '../store/a.ts'\nimport '../platform/a.ts'`,
      'src/config.ts': `import './rules/a.ts'\nimport './platform/a.ts'`,
      'src/config.test.ts': `import './config.ts'`,
      'src/gateway/a.test.ts': `import { createMetrics } from '../metrics.ts'`,
      'simulator/a.ts': `import './b.ts'\nimport 'node:http'`,
      'test/a.test.ts': `import '../src/main.ts'\nimport '../simulator/a.ts'`,
      'dashboard/src/a.ts': `import type { B } from '../../src/console/contract.ts'\nimport { c } from './c.tsx'`,
    },
  },
)

const STORE_OF_KEYS = {
  'src/store/keys.ts': [
    `export async function findKey(db: Db) {\n  return db.selectFrom('keys')\n}`,
    `export async function deleteKey(tx: Db) {\n  await tx.deleteFrom('keys')\n}`,
    `export async function endKeys(tx: Db) {\n  for (const key of keys) await deleteKey(tx, key)\n}`,
    'export async function moveMoney(tx: Db) {\n  await sql`select ledger_transfer(${id})`\n}',
  ].join('\n\n'),
}

law('a plane changes what is somebody’s through an action, and never by the store itself', writesThroughActions, {
  breaches: [
    'import { deleteKey } from',
    'import {\n  findKey,\n  endKeys as end,\n} from',
    'import { moveMoney } from',
    'import { type Key, deleteKey } from',
  ].map((statement): [string, Files] => [
    `src/console/a.ts:${statement.split('\n').length}`,
    { ...STORE_OF_KEYS, 'src/console/a.ts': `${statement} '../store/keys.ts'` },
  ]),
  lawful: {
    ...STORE_OF_KEYS,
    'src/console/a.ts': `import { findKey } from '../store/keys.ts'\nimport type { deleteKey } from '../store/keys.ts'`,
    'src/actions/a.ts': `import * as store from '../store/keys.ts'`,
    'src/cli/a.test.ts': `import { deleteKey } from '../../src/store/keys.ts'`,
  },
})

test('what a plane may write by itself, it writes', () => {
  assert.deepEqual(unusedAllowances(tree), [])
})

law('nouns of one layer stand beside each other, and build on each other only where that is said', sidewaysImports, {
  breaches: [
    ['src/store/accounts/a.ts:1', { 'src/store/accounts/a.ts': `import { b } from '../offers/b.ts'` }],
    ['src/store/offers/a.ts:1', { 'src/store/offers/a.ts': `import { b } from '../recommendations/b.ts'` }],
    ['src/rules/billing/a.ts:2', { 'src/rules/billing/a.ts': `\nimport type { B } from '../calls/b.ts'` }],
    ['src/gateway/upstreams/a.ts:1', { 'src/gateway/upstreams/a.ts': `await import('../recommendations/b.ts')` }],
    ['src/novel/one/a.ts:1', { 'src/novel/one/a.ts': `import '../other/b.ts'` }],
  ],
  lawful: {
    'src/store/recommendations/a.ts': `import '../offers/b.ts'\nimport '../database.ts'\nimport './c.ts'`,
    'src/store/accounts/a.test.ts': `import '../offers/b.ts'`,
    'src/store/database.ts': `import './accounts/a.ts'`,
    'src/console/accounts/a.ts': `import '../../store/accounts/a.ts'\nimport '../../rules/billing/a.ts'`,
    'src/gateway/gateway.ts': `import './upstreams/a.ts'\nimport './recommendations/a.ts'`,
    'src/recommend/feeds/deep/a.ts': `import '../b.ts'`,
  },
})

test('what builds on what leads nowhere back', () => {
  for (const nouns of Object.values(SIDEWAYS)) assert.equal(circleIn(nouns), undefined)
  assert.deepEqual(circleIn({ a: ['b'], b: ['c'], c: ['d', 'b'] }), ['b', 'c', 'b'])
  assert.deepEqual(circleIn({ a: ['a'] }), ['a', 'a'])
})

law('a folder of src has at most 21 files beside tests', folderSizes, {
  breaches: [
    ['src/store/f22.ts:1', filesIn('src/store', 22)],
    ['src/rules/billing/f22.ts:1', { ...filesIn('src/rules/billing', 22), ...filesIn('src/rules', 21) }],
  ],
  lawful: {
    ...filesIn('src/store', 21),
    ...filesIn('src/store/accounts', 21),
    ...filesIn('src/store', 30, '.test.ts'),
    ...filesIn('test/integration', 30),
    ...filesIn('dashboard/src/components', 30),
    'src/store/heads.json': '{}',
  },
})

law('no import leads back to the file that it started from', tidy.importCycles, {
  breaches: [
    ['src/rules/b.ts:1', { 'src/rules/a.ts': `import './b.ts'`, 'src/rules/b.ts': `import './a.ts'` }],
    ['src/rules/a.ts:1', { 'src/rules/a.ts': `import { a } from './a.ts'` }],
    [
      'simulator/c.ts:1',
      {
        'simulator/a.ts': `import './b.ts'`,
        'simulator/b.ts': `import './c.ts'`,
        'simulator/c.ts': `import type { A } from './a.ts'`,
      },
    ],
  ],
  lawful: {
    'src/rules/a.ts': `import './b.ts'\nimport './c.ts'`,
    'src/rules/b.ts': `import './c.ts'`,
    'src/rules/c.ts': '',
  },
})

law('what builds the encoder is a program of its own, and nothing that serves imports it', tidy.programsApart, {
  breaches: [
    ['src/recommend/embedding/a.ts:1', { 'src/recommend/embedding/a.ts': `import '../encoder-build/b.ts'` }],
    ['src/main.ts:1', { 'src/main.ts': `const { b } = await import('./recommend/encoder-build/b.ts')` }],
  ],
  lawful: {
    'src/recommend/encoder-build/a.ts': `import './b.ts'\nimport '../embedding/c.ts'`,
    'src/recommend/embedding/c.ts': `const script = new URL('../encoder-build/b.ts', import.meta.url)`,
  },
})

law('a package is imported only where it belongs', tidy.packageOwners, {
  breaches: [
    ['src/gateway/a.ts:1', { 'src/gateway/a.ts': `import { Pool } from 'pg'` }],
    ['src/console/a.ts:1', { 'src/console/a.ts': `import { sql } from 'kysely/helpers/postgres'` }],
    ['src/store/a.ts:1', { 'src/store/a.ts': `import type { FastifyInstance } from 'fastify'` }],
    ['src/worker/a.ts:1', { 'src/worker/a.ts': `import { request } from 'undici'` }],
    ['src/gateway/a.ts:1', { 'src/gateway/a.ts': `import { Command } from 'commander'` }],
    ['src/gateway/a.ts:1', { 'src/gateway/a.ts': `import { Counter } from 'prom-client'` }],
    ['src/platform/a.ts:1', { 'src/platform/a.ts': `import { Counter } from 'prom-client'` }],
    ['src/cli/a.ts:1', { 'src/cli/a.ts': `import { Stripe } from 'stripe'` }],
    ['src/store/a.ts:1', { 'src/store/a.ts': `import { pino } from 'pino'` }],
    ['src/gateway/ops.ts:1', { 'src/gateway/ops.ts': `import { pino } from 'pino'` }],
    ['src/worker/a.ts:1', { 'src/worker/a.ts': `import { fastify } from 'fastify'` }],
    ['src/main.ts:1', { 'src/main.ts': `import { Command } from 'commander'` }],
    ['simulator/a.ts:1', { 'simulator/a.ts': `import { fastify } from 'fastify'` }],
  ],
  lawful: {
    'src/store/a.ts': `import { Pool } from 'pg'\nimport { sql } from 'kysely'`,
    'src/gateway/server.ts': `import { fastify } from 'fastify'\nimport { z } from 'zod'`,
    'src/cli/a.ts': `import { Command } from 'commander'`,
    'src/providers/a.ts': `import { Agent } from 'undici'`,
    'src/console/a.ts': `import { fastify } from 'fastify'`,
    'src/actions/billing/a.ts': `import { Stripe } from 'stripe'`,
    'src/platform/a.ts': `import { pino } from 'pino'`,
    'src/metrics.ts': `import { Counter } from 'prom-client'`,
    'test/support/a.ts': `import { Client } from 'pg'`,
    'bench/a.ts': `import { Client } from 'pg'\nimport { request } from 'undici'`,
  },
})

test('where a package may be imported, it is', () => {
  assert.deepEqual(tidy.unusedOwners(tree), [])
  assert.ok(
    tidy.unusedOwners(tree.filter(({ path }) => path !== 'src/metrics.ts')).includes('prom-client in src/metrics.ts'),
  )
})

law('the web app is built from chosen packages, and the server from none of them', tidy.dashboardPackages, {
  breaches: [
    ['dashboard/src/a.tsx:2', { 'dashboard/src/a.tsx': `import 'react'\nimport { z } from 'zod'` }],
    ['dashboard/src/a.ts:1', { 'dashboard/src/a.ts': `import { join } from 'node:path'` }],
    ['src/console/a.ts:1', { 'src/console/a.ts': `import { QueryClient } from '@tanstack/react-query'` }],
  ],
  lawful: {
    'dashboard/src/a.tsx': `import { Menu } from '@base-ui/react/menu'\nimport { createRoot } from 'react-dom/client'`,
    'dashboard/src/a.test.ts': `import { test } from 'node:test'`,
    'dashboard/vite.config.ts': `import { defineConfig } from 'vite'\nimport { join } from 'node:path'`,
    'src/console/a.ts': `import { z } from 'zod'\nimport 'node:path'`,
  },
})

law('only src/config.ts reads the environment', tidy.environmentReaders, {
  breaches: [
    ['src/store/a.ts:2', { 'src/store/a.ts': `\nconst url = process.env.DATABASE_URL` }],
    ['src/main.ts:1', { 'src/main.ts': `const config = readConfig(process.env)` }],
    ['simulator/main.ts:1', { 'simulator/main.ts': `const { env } = process` }],
    ['src/cli/a.ts:1', { 'src/cli/a.ts': `import { env } from 'node:process'` }],
  ],
  lawful: {
    'src/config.ts': `export const read = (env = process.env) => env`,
    'src/main.ts': `// process.env is read by config.ts\nprocess.exitCode = 1`,
    'scripts/dev.ts': `process.env.PATH`,
    // A third-party library reads it, and can be configured in no other way.
    'src/recommend/a.ts': `process.env.LANCE_CPU_THREADS = '8'`,
  },
})

law('rules know no clock, no chance and no I/O', tidy.purity, {
  breaches: [
    ...['Date.now()', 'new Date()', 'new Date', 'Date()', 'Math.random()', 'randomBytes(8)', 'crypto.randomUUID()'].map(
      (impure): [string, Files] => ['src/rules/a.ts:2', { 'src/rules/a.ts': `\nconst a = ${impure}` }],
    ),
    ['src/rules/a.ts:1', { 'src/rules/a.ts': `import { readFile } from 'node:fs/promises'` }],
    ['src/rules/a.ts:1', { 'src/rules/a.ts': `import { setTimeout } from 'node:timers/promises'` }],
    ['src/rules/a.ts:1', { 'src/rules/a.ts': `import { connect } from 'net'` }],
  ],
  lawful: {
    'src/rules/a.ts': [
      `import assert from 'node:assert/strict'`,
      `import { Buffer } from 'node:buffer'`,
      `import { createHash } from 'node:crypto'`,
      `// Date.now() is the caller's`,
      `const day = new Date(atMs).getUTCDay() + new Date('2025-01-01').getUTCDay()`,
    ].join('\n'),
    'src/rules/a.test.ts': `import { readFileSync } from 'node:fs'\nconst a = Date.now()`,
    'src/worker/a.ts': 'const a = Date.now()',
  },
})

law('a file name says what is in it', tidy.fileNames, {
  breaches: ['utils', 'helpers', 'common', 'types', 'constants', 'index', 'misc'].flatMap((name): [string, Files][] => [
    [`src/store/${name}.ts:1`, { [`src/store/${name}.ts`]: '' }],
    [`test/${name}/a.test.ts:1`, { [`test/${name}/a.test.ts`]: '' }],
  ]),
  lawful: { 'src/store/key-types.ts': '', 'docs/index.md': '', 'test/fixtures/index.ts': '' },
})

law('a module exports by name, and never everything of another module', tidy.namedExports, {
  breaches: [
    ['src/rules/a.ts:2', { 'src/rules/a.ts': `\nexport default function a() {}` }],
    ['bench/a.ts:1', { 'bench/a.ts': `export { a as default }` }],
    ['src/rules/a.ts:1', { 'src/rules/a.ts': `export * from './b.ts'` }],
    ['src/rules/a.ts:1', { 'src/rules/a.ts': `export * as b from './b.ts'` }],
  ],
  lawful: { 'src/rules/a.ts': `export const a = 'export default'\nexport { b } from './b.ts'` },
})

law('a file is at most 400 lines long, one of src 300, and a test 600', tidy.fileLengths, {
  breaches: [
    ['src/rules/a.ts:301', { 'src/rules/a.ts': linesOf(301) }],
    ['simulator/a.ts:401', { 'simulator/a.ts': linesOf(401) }],
    ['dashboard/src/a.tsx:401', { 'dashboard/src/a.tsx': linesOf(401) }],
    ['test/support/a.ts:401', { 'test/support/a.ts': linesOf(401) }],
    ['src/rules/a.test.ts:601', { 'src/rules/a.test.ts': linesOf(601) }],
  ],
  lawful: {
    'src/rules/a.ts': linesOf(300),
    'simulator/a.ts': linesOf(400),
    'src/rules/a.test.ts': linesOf(600),
    'src/store/schema.gen.ts': linesOf(2_000),
    'docs/a.md': linesOf(2_000),
  },
})

law('a function is at most 70 lines long', tidy.functionLengths, {
  breaches: [
    ['src/rules/a.ts:2', { 'src/rules/a.ts': `\nexport async function a() {\n${linesOf(69)}}\n` }],
    [
      'src/rules/a.ts:1',
      { 'src/rules/a.ts': `export function* a(\n  b: B,\n): Promise<{ c: C }> {\n${linesOf(67)}}\n` },
    ],
    ['src/rules/a.ts:1', { 'src/rules/a.ts': `function a({\n  b,\n}: {\n  b: B\n}): C {\n${linesOf(65)}}\n` }],
    ['src/rules/a.ts:1', { 'src/rules/a.ts': `export const a: Rule = (b) => {\n${linesOf(69)}}\n` }],
    ['src/rules/a.ts:2', { 'src/rules/a.ts': `const a = {\n  async b() {\n${linesOf(69, '    work()')}  },\n}\n` }],
    [
      'src/rules/a.ts:2',
      { 'src/rules/a.ts': `const a = {\n  b: async (c) => {\n${linesOf(69, '    work()')}  },\n}\n` },
    ],
    ['src/rules/a.ts:1', { 'src/rules/a.ts': `function a() {\n  const b = \`\n}\n\`\n${linesOf(66)}}\n` }],
  ],
  lawful: {
    'src/rules/a.ts': `export function a() {\n${linesOf(68)}}\n\nconst b = (c) => c + 1\n\nconst d = {\n${linesOf(90, '  e: 1,')}}\n`,
    'src/rules/a.test.ts': `test('long', () => {\n${linesOf(90)}})\n`,
    'src/rules/b.ts': `if (a) {\n${linesOf(90)}}\nfor (const b of c) {\n${linesOf(90)}}\n`,
  },
})

law('SQL lives in src/store', tidy.sqlInStore, {
  breaches: [
    'select id\n  from keys',
    'INSERT INTO keys values (1)',
    'update keys set name = ${name}',
    '\n  delete from keys',
    'with k as (select * from keys) table k',
  ].map((sql): [string, Files] => ['src/console/a.ts:2', { 'src/console/a.ts': `\nconst a = \`${sql}\`` }]),
  lawful: {
    'src/store/a.ts': 'const a = sql`select id from keys`',
    'src/gateway/a.ts': 'const a = `cannot select ${model} from these routes, nor update or set them`',
    'src/gateway/a.test.ts': 'const a = `select id from keys`',
    'scripts/a.ts': 'const a = `select id from keys`',
  },
})

const DEFINES = (name: string) =>
  `-- Why.\ncreate or replace function ${name}() returns int language sql as $$ select 1 $$;\n`

law('an SQL function has one body, in the file of functions/ that has its name', oneBodyPerFunction, {
  breaches: [
    ['migrations/0021_a.sql:2', { 'migrations/0021_a.sql': `\n${DEFINES('a').slice('-- Why.\n'.length)}` }],
    ['migrations/0022_a.sql:1', { 'migrations/0022_a.sql': `do $$ begin execute 'Create  Function a()'; end $$;` }],
    ['migrations/1000_a.sql:1', { 'migrations/1000_a.sql': 'create procedure a() language sql as $$ $$;' }],
    ['migrations/0022_a.sql:2', { 'migrations/0022_a.sql': '-- a() is not called any more.\nDrop Function a();' }],
    ['functions/a.sql:4', { 'functions/a.sql': DEFINES('a') + DEFINES('b') }],
    ['functions/a.sql:2', { 'functions/a.sql': DEFINES('b') }],
    ['functions/b.sql:2', { 'functions/a.sql': DEFINES('a'), 'functions/b.sql': DEFINES('a') }],
    ['functions/a.sql:1', { 'functions/a.sql': 'grant execute on function a to parley_worker;' }],
    ['functions/a.sql:2', { 'functions/a.sql': DEFINES('a').replace('or replace ', '') }],
    ['functions/a.sql:1', { 'functions/a.sql': DEFINES('a').slice('-- Why.\n'.length) }],
    ['functions/ledger/a.sql:1', { 'functions/ledger/a.sql': DEFINES('a') }],
    ['functions/a.sql:3', { 'functions/a.sql': `-- Why.\n\ndrop function if exists b(int), a(int);\n${DEFINES('a')}` }],
  ],
  lawful: {
    'migrations/0020_a.sql': DEFINES('a'),
    'migrations/0021_a.sql': '-- create function a() is in functions/.\ndrop function a(int);',
    'functions/a.sql': `${DEFINES('a')}grant execute on function a to parley_worker;\n`,
    'functions/c.sql': `${DEFINES('c')}drop function if exists d();\n`,
    'functions/b.sql': DEFINES('b').replace('select 1', `select 'create function a()'::text::int`),
  },
})

law('every runtime dependency has its reason in docs/decisions.md', tidy.explainedDependencies, {
  breaches: [
    [
      'package.json:3',
      {
        'package.json': '{"dependencies": {\n"pg": "8.0.0",\n"zod": "4.0.0"\n}}',
        'docs/decisions.md': 'PostgreSQL through `pg`, and zod.',
      },
    ],
  ],
  lawful: {
    'package.json': '{"dependencies": {"pg": "8.0.0"}, "devDependencies": {"typescript": "7.0.0"}}',
    'docs/decisions.md': 'PostgreSQL through `pg`.',
  },
})

law('no file names a package registry', tidy.noRegistryHosts, {
  breaches: [
    ['.npmrc:2', { '.npmrc': `save-exact=true\nregistry=https://${['registry', 'npmjs', 'org'].join('.')}/` }],
    ['docs/a.md:1', { 'docs/a.md': ['registry', 'yarnpkg', 'com'].join('.') }],
    ['package-lock.json:2', { 'package-lock.json': '{\n"resolved": "https://mirror.example/pg.tgz"}' }],
  ],
  lawful: { 'package-lock.json': '{"integrity": "sha512-x"}', '.npmrc': 'omit-lockfile-registry-resolved=true' },
})

law('relative links in Markdown lead to files that exist', tidy.relativeLinks, {
  breaches: [
    ['README.md:2', { 'README.md': '# Title\n[gone](docs/gone.md)' }],
    ['docs/a.md:1', { 'docs/a.md': '![gone](../README.md#title)' }],
    ['docs/a.md:1', { 'docs/a.md': '[ref]: ./gone.md' }],
  ],
  lawful: {
    'README.md': [
      '[a](docs/a.md) [b](./docs/a.md#part "Title") [folder](docs/) [web](https://example.org/x.md) [here](#part)',
      '`[code](gone.md)`',
      '```\n[code](gone.md)\n```',
    ].join('\n'),
    'docs/a.md': '[up](../README.md)\n\n[ref]: ../README.md',
  },
})

law('unfinished work is not hidden in comments', tidy.finishedWork, {
  breaches: [
    ['src/rules/a.ts:2', { 'src/rules/a.ts': '\n// TODO later' }],
    ['simulator/a.ts:1', { 'simulator/a.ts': '/* FIXME */' }],
    ['scripts/a.ts:1', { 'scripts/a.ts': `const a = 'XXX'` }],
  ],
  lawful: { 'src/rules/a.ts': `mkdtemp('parley-XXXXXX')`, 'docs/a.md': 'TODO' },
})

/** Not written out in a comment, or this file would break the rule itself. */
const what = 'What'

law('a comment opens with its subject', subjectsFirst, {
  breaches: [
    ['src/rules/a.ts:1', { 'src/rules/a.ts': `/** ${what} a click costs. */` }],
    ['src/rules/a.ts:1', { 'src/rules/a.ts': `/**\n * ${what}ever calls it holds the lock.\n */` }],
    ['test/a.ts:2', { 'test/a.ts': `const a = 1\nconst b = 2 // ${what} each code.` }],
    ['functions/a.sql:1', { 'functions/a.sql': `-- ${what} may call it.` }],
  ],
  lawful: {
    'src/rules/a.ts': `/** The price of a click. */\n// A sentence\n// that goes on\n// ${what} follows is the same comment.`,
    'migrations/0001_a.sql': `-- ${what} was written stays.`,
    'docs/a.md': `// ${what}`,
  },
})
