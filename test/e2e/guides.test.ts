import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { conversionKeyFrom } from '../../src/rules/clicks/conversions.ts'
import { textDigestOf } from '../../src/rules/text-digest.ts'
import { setConversionKey } from '../../src/store/recommendations/conversions.ts'
import { ROOT, run } from '../support/commands.ts'
import { addOffer } from '../support/fixed-matcher.ts'
import { addModel, addProject, createWorld, type TestProject, type World } from '../support/world.ts'

/** Every example of the guides is run as a reader would: pasted into a shell, or saved and started. */

const GUIDES = readdirSync(join(ROOT, 'docs/guides')).map((name) => `docs/guides/${name}`)
const PAGES = [...GUIDES, 'docs/api.md', 'docs/errors.md', 'docs/limits.md', 'README.md']

interface Block {
  language: string
  code: string
  /** The file that the guide says to save it as, if any. */
  file: string | undefined
}

function blocksOf(path: string): Block[] {
  const whole = readFileSync(join(ROOT, path), 'utf8')
  // How Parley itself is started from its sources is for other tests: they take minutes.
  const text = path === 'README.md' ? String(whole.split('\n## Use it from your code\n')[1]?.split('\n## ')[0]) : whole
  return [...text.matchAll(/(?:Save this as `([\w./-]+)`:\n\n)?^```(\w*)\n([^]*?)^```$/gm)].map(
    ([, file, language = '', code = '']) => ({ language, code, file }),
  )
}

/**
 * Commands that need a machine of their own, or hours, or packages from the internet. The packages are those of this
 * repository.
 */
const LEFT_OUT: readonly RegExp[] = [
  /^git clone .*$/gm,
  /^npm ci .*$/gm,
  /^npm install (.*)$/gm,
  /^pip install .*$/gm,
  /^docker compose .*$/gm,
  /^echo "PARLEY_SECRET=.*$/gm,
  /^export (?:DATABASE_URL|PARLEY_SECRET)=.*$/gm,
  /^bin\/parley database logins .*$/gm,
  /^bin\/parley serve$/gm,
]

const CONVERSION_KEY = conversionKeyFrom(Buffer.alloc(32, 1))

let world: World
let folder: string
before(async () => {
  world = await createWorld()
  const { store } = world
  for (const id of ['parley-small', 'parley-large']) await addModel(store, { id, provider: 'simulator' })
  await addModel(store, { id: 'parley-embedding', kind: 'embedding', provider: 'simulator' })
  const { advertiserId } = await addOffer(store.db)
  await setConversionKey(store.db, advertiserId, textDigestOf(CONVERSION_KEY))
  folder = await mkdtemp(join(tmpdir(), 'parley-guides-'))
  for (const name of ['node_modules', 'bin']) await symlink(join(ROOT, name), join(folder, name))
})
after(async () => {
  await rm(folder, { recursive: true, force: true })
  await world.close()
})

function here(text: string, project: TestProject): string {
  return text
    .replaceAll('http://127.0.0.1:8080', world.url)
    .replaceAll('http://127.0.0.1:9090', world.opsUrl)
    .replaceAll(/(?<= )PROJECT\b/g, project.id)
    .replaceAll(/(?<= )PUBLISHABLE_KEY\b/g, project.publishableKey)
}

const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
  'dependencies' | 'devDependencies',
  Record<string, string>
>

const leftOut = new Set<RegExp>()

function runnable(shell: string): string {
  for (const [, packages = ''] of shell.matchAll(/^npm install (.*)$/gm))
    for (const name of packages.split(' ')) assert.ok(name in { ...dependencies, ...devDependencies }, name)
  return LEFT_OUT.reduce((text, pattern) => {
    if (text.search(pattern) >= 0) leftOut.add(pattern)
    return text.replaceAll(pattern, ':')
  }, shell)
}

const hasPython = (await run('python3', ['-c', 'import openai'])).code === 0

for (const page of PAGES) {
  test(`what ${page} shows can be run, in its order`, async () => {
    const blocks = blocksOf(page)
    // Each page has a project of its own: some switch off what they show.
    const project = await addProject(world.store, world.secrets)
    for (const { file, code } of blocks) if (file) await writeFile(join(folder, file), here(code, project))
    const fragments = blocks.filter(({ language, file }) => /^(?:js|ts)$/.test(language) && file === undefined)
    for (const { code } of fragments) {
      await writeFile(join(folder, 'fragment.mjs'), here(code, project))
      const { code: wrong, stderr } = await run('node', ['--check', 'fragment.mjs'], { cwd: folder })
      assert.equal(wrong, 0, `${code}\n${stderr}`)
    }
    for (const { language, code } of blocks)
      if (language === 'json') assert.doesNotThrow(() => JSON.parse(code.replaceAll('[…]', '[]')), code)

    const shells = blocks.filter(({ language }) => language === 'sh').map(({ code }) => runnable(here(code, project)))
    const parts = shells.map((code, n) => {
      const isPython = code.includes('python3 ') && !hasPython
      return `echo '=== ${n}'\n${isPython ? code.replaceAll('python3 ', 'python3 -m py_compile ') : code}`
    })
    const { publishableKey, secretKey } = project
    const keys = { PARLEY_PUBLISHABLE_KEY: publishableKey, PARLEY_SECRET_KEY: secretKey }
    const env = { ...world.env, ...keys, PARLEY_CONVERSION_KEY: CONVERSION_KEY }
    const { stdout, stderr, code } = await run('sh', ['-euc', parts.join('\n')], {
      cwd: folder,
      env,
      withinMs: 300_000,
    })
    assert.equal(code, 0, `${stdout}\n${stderr}`)
    for (const [n, output] of stdout
      .split(/^=== \d+\n/m)
      .slice(1)
      .entries()) {
      const [, refused] = /# answers (\d{3})/.exec(shells[n] ?? '') ?? []
      const [, status] = /"statusCode":(\d{3})/.exec(output) ?? []
      assert.equal(status, refused, `${shells[n]}\n${output}`)
      // Every request gets an answer, and an SDK writes a failure to the other stream.
      if (/\b(?:curl|node|python3) /.test(shells[n] ?? '') && !isQuiet(shells[n])) assert.notEqual(output.trim(), '')
    }
    assert.doesNotMatch(stderr, /Error|\bat file:/, stderr)
  })
}

function isQuiet(shell = ''): boolean {
  return / -o \S+$/m.test(shell) || shell.includes('py_compile') || (shell.includes('python3 ') && !hasPython)
}

test('what is left out of the examples is there to be left out', () => {
  assert.deepEqual(
    LEFT_OUT.filter((pattern) => !leftOut.has(pattern)),
    [],
  )
})
