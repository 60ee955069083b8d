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
export const GRAPH_VERSION = 2
export const TOKENS_MAX = 256

/**
 * The files that this GRAPH_VERSION builds, to the byte, on every machine. Raise the version when you change one: vectors are
 * stored under its name.
 */
export const ENCODER_FILES: Record<Precision, { bytes: number; sha256: string }> = {
  int8: { bytes: 23_165_080, sha256: '77e6bb059d9822a8b38edf0894d7ca7f51d818e5af2fc30625ccf19f7fa8f114' },
  fp32: { bytes: 89_887_784, sha256: '8299f3796452e42fe79c22bef5a2758a02c4dafb4856c79db22b931bfe4ef5c0' },
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
