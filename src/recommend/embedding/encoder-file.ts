import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/**
 * The file that an embedder loads. It is built from the weights by a program of its own, once for each version: building
 * takes seconds and 200 MB, and a process that answers has neither that code nor that memory.
 */
export interface EncoderFile {
  path: string
  weightsPath: string
  precision: Precision
}

export type Precision = 'int8' | 'fp32'

/** Part of the file's name: raise it with every change of what is built. */
export const GRAPH_VERSION = 1
export const TOKENS_MAX = 256

/**
 * The files that this GRAPH_VERSION builds, to the byte, on every machine. Raise the version when you change one: vectors are
 * stored under its name.
 */
export const ENCODER_FILES: Record<Precision, { bytes: number; sha256: string }> = {
  int8: { bytes: 23_102_549, sha256: '5d6229e38878d58ea1eefcfe47129ff6a4af157be908b6fc42cf63749aad8140' },
  fp32: { bytes: 89_886_572, sha256: 'bdf39709964b241ca78fbd1425c92a7ddfe926466a0c720acf23439635b4afbb' },
}

const BUILDER = fileURLToPath(new URL('../encoder-build/build-encoder.ts', import.meta.url))
const BUILD_WITHIN_MS = 300_000

/**
 * Is the file there, and as it was built? A damaged one may load all the same and then make vectors that mean nothing: the
 * gates were not proven with those.
 */
export async function isEncoderWhole({ path, precision }: EncoderFile): Promise<boolean> {
  const digest = createHash('sha256')
  try {
    await pipeline(createReadStream(path), digest)
  } catch {
    return false
  }
  return digest.digest('hex') === ENCODER_FILES[precision].sha256
}

/** Rejects with the reason, as part of a sentence. */
export async function buildEncoderFile(file: EncoderFile, signal?: AbortSignal): Promise<void> {
  const { path, weightsPath, precision } = file
  // Without the environment: it holds secrets, and options of Node that are meant for this process.
  const options = { env: {}, timeout: BUILD_WITHIN_MS, killSignal: 'SIGKILL', signal } as const
  try {
    await promisify(execFile)(process.execPath, [BUILDER, weightsPath, path, precision], options)
  } catch (error) {
    const { stderr = '', signal: by } = error as { stderr?: string; signal?: string | null }
    throw new Error(stderr.trim() || `the program that builds it was ended${by ? ` by ${by}` : ''}`, { cause: error })
  }
}
