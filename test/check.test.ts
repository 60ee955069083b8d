import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { failedFilesIn } from '../scripts/failed-tests.ts'

test('the files of failed tests are found in what the runner prints, and no others', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-check-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const write = (name: string, tests: string) =>
    writeFileSync(join(folder, name), `import { test } from 'node:test'\n${tests}`)
  write('good.test.mjs', "test('is right', () => {})")
  write('bad.test.mjs', "test('one', () => { throw new Error() })\ntest('two', () => { throw new Error() })")
  write('ends.test.mjs', 'process.exit(3)')
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const run = (...files: string[]) =>
    spawnSync(process.execPath, ['--test', '--test-reporter=spec', ...files], { cwd: folder, env, encoding: 'utf8' })
  const { stdout, status } = run('good.test.mjs', 'bad.test.mjs', 'ends.test.mjs')
  assert.equal(status, 1)
  assert.deepEqual(failedFilesIn(stdout).toSorted(), ['bad.test.mjs', 'ends.test.mjs'])
  assert.deepEqual(failedFilesIn(run('good.test.mjs').stdout), [])
})
