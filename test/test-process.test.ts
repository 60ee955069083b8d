import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

const PRELOAD = join(import.meta.dirname, 'support/test-process.ts')

const folder = mkdtempSync(join(tmpdir(), 'parley-test-process-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function runFile(name: string, code: string): { status: number | null; output: string } {
  const file = join(folder, `${name}.test.mjs`)
  writeFileSync(file, `import { test } from 'node:test'\n${code}\n`)
  // Inside a test process the runner would refuse to start another.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', PRELOAD, '--test', file], {
    env,
    encoding: 'utf8',
  })
  return { status, output: stdout + stderr }
}

test('a file of sound tests passes', () => {
  const { status } = runFile(
    'sound',
    `test('sound', async () => { await Promise.reject(new Error('x')).catch(() => {}) })`,
  )
  assert.equal(status, 0)
})

test('a test that ends the process fails the file', () => {
  const { status, output } = runFile('exit', `test('ends', () => process.exit(0))\ntest('left out', () => {})`)
  assert.equal(status, 1)
  assert.match(output, /process\.exit\(0\) was called/)
})

test('a rejection that nothing handles fails the file while its test runs, and after it', () => {
  const during = `test('lost', async () => { Promise.reject(new Error('lost')); await new Promise(setImmediate) })`
  const afterwards = `test('lost', () => { setImmediate(() => Promise.reject(new Error('lost'))) })`
  for (const [name, code] of Object.entries({ during, afterwards })) {
    const { status, output } = runFile(name, code)
    assert.equal(status, 1, name)
    assert.match(output, /a promise was rejected and nothing handled it: Error: lost/)
  }
})
