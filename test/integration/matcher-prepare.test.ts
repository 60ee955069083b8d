import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parley } from '../support/commands.ts'

let directory: string
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'parley-prepare-'))
})
after(() => rm(directory, { recursive: true }))

test('"parley matcher prepare" needs neither a database nor a secret, builds once, and says where', async () => {
  const inMatcherDir = { env: { PARLEY_MATCHER_DIR: directory }, withinMs: 60_000 }
  const first = await parley(['matcher', 'prepare'], inMatcherDir)
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /^The encoder minilm-l6-v2-int8-[0-9a-f]{12} was built into \S+\.\n$/)
  assert.ok(first.stdout.includes(directory))

  // Where a matcher would look for it, too.
  const env = { PARLEY_ENCODER_DIR: directory, PARLEY_MATCHER_DIR: '/dev/null' }
  const second = await parley(['matcher', 'prepare', '--json'], { env })
  const { modelId, ...rest } = JSON.parse(second.stdout) as { modelId: string }
  assert.deepEqual(rest, { directory, isBuilt: false })
  assert.deepEqual(await readdir(directory), [`${modelId}.onnx`])
})

test('"parley matcher prepare" that cannot write says in one line why, and what it needs', async () => {
  const { code, stdout, stderr } = await parley(['matcher', 'prepare', '--into', '/dev/null/encoder'])
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /^The encoder cannot be built into \/dev\/null\/encoder: ENOTDIR[^\n]*\.\n$/)
})

test('"parley matcher prepare --into" with nothing behind it builds nothing', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'parley-prepare-'))
  const { code, stdout, stderr } = await parley(['matcher', 'prepare', '--into', ''], { cwd, withinMs: 60_000 })
  assert.deepEqual([code, stdout, stderr], [1, '', '--into needs a directory. Name one, or leave it out.\n'])
  assert.deepEqual(await readdir(cwd), [])
  await rm(cwd, { recursive: true })
})

test('"parley matcher prepare" builds a damaged encoder again', async () => {
  const [name] = await readdir(directory)
  const path = join(directory, name!)
  const whole = await readFile(path)
  const damaged = Buffer.from(whole)
  damaged.fill(0, 10_000_000, 10_065_536)
  await writeFile(path, damaged)
  const { stdout } = await parley(['matcher', 'prepare', '--into', directory], { withinMs: 60_000 })
  assert.match(stdout, / was built into /)
  assert.ok(whole.equals(await readFile(path)))
})
