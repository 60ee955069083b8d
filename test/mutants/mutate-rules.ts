/**
 * `npm run mutants:rules -- money billing/charging`: lets Stryker change every operator, condition and literal of pure rules, one
 * at a time, and runs the tests beside them. Without a name it takes all of src/rules, for which it needs most of an hour.
 *
 * What survives is to be read, not to be zero: `size <= 0 ? -size : size` is no other rule than `size < 0 ? -size : size`.
 * Stryker is fetched when it is run, because 185 packages are too many to install for everybody.
 */
import { execFile } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const VERSION = '10.0.0'
const ROOT = join(import.meta.dirname, '../..')

interface Planted {
  status: string
  mutatorName: string
  replacement: string
  location: { start: { line: number } }
}

const [, , ...asked] = process.argv
const rules = asked.length > 0 ? asked : rulesWithTests()
const home = await mkdtemp(join(tmpdir(), 'parley-rules-'))
let planted = 0
let survived = 0
try {
  for (const rule of rules) await report(rule, await mutate(rule))
} finally {
  await rm(home, { recursive: true, force: true })
}
console.log(`\nrules: ${planted} planted, ${planted - survived} caught, ${survived} survived`)

function rulesWithTests(): string[] {
  return globSync('**/*.test.ts', { cwd: join(ROOT, 'src/rules') })
    .map((file) => file.replace(/\.test\.ts$/, ''))
    .filter((rule) => existsSync(join(ROOT, `src/rules/${rule}.ts`)))
    .toSorted()
}

async function mutate(rule: string): Promise<Planted[]> {
  const name = rule.replaceAll('/', '-')
  const found = join(home, `${name}.json`)
  const config = join(home, `${name}.config.json`)
  await writeFile(
    config,
    JSON.stringify({
      mutate: [`src/rules/${rule}.ts`],
      testRunner: 'tap',
      tap: { testFiles: [`src/rules/${rule}.test.ts`], nodeArgs: ['--test-reporter=tap', '{{testFile}}'] },
      coverageAnalysis: 'off',
      ignorePatterns: ['**', '!src/**', '!test/support/**', '!docs/**', '!package.json'],
      // Beneath the project, where Node finds the project's packages.
      tempDirName: '.stryker',
      reporters: ['json'],
      jsonReporter: { fileName: found },
    }),
  )
  const packages = ['core', 'tap-runner'].flatMap((name) => ['--package', `@stryker-mutator/${name}@${VERSION}`])
  await promisify(execFile)('npx', ['--yes', ...packages, 'stryker', 'run', config], {
    cwd: ROOT,
    maxBuffer: 64 * 1024 * 1024,
  })
  const { files } = JSON.parse(await readFile(found, 'utf8')) as { files: Record<string, { mutants: Planted[] }> }
  return Object.values(files).flatMap(({ mutants }) => mutants)
}

async function report(rule: string, mutants: Planted[]): Promise<void> {
  const file = `src/rules/${rule}.ts`
  const lines = (await readFile(join(ROOT, file), 'utf8')).split('\n')
  const alive = mutants.filter(({ status }) => status !== 'Killed' && status !== 'Timeout')
  planted += mutants.length
  survived += alive.length
  console.log(`${file}: ${mutants.length - alive.length} of ${mutants.length} caught`)
  for (const { mutatorName, replacement, location } of alive) {
    const { line } = location.start
    console.log(`  line ${line}, ${mutatorName}: ${lines[line - 1]?.trim()}  →  ${replacement}`)
  }
}
