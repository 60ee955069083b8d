import { execFile } from 'node:child_process'
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

const BUILDER = fileURLToPath(new URL('../encoder-build/build-encoder.ts', import.meta.url))
const BUILD_WITHIN_MS = 300_000

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
