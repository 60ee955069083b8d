/**
 * Builds the file that an embedder loads: `node build-encoder.ts WEIGHTS FILE PRECISION`. A program of its own: whoever
 * needs the file runs it (`buildEncoderFile`), and nothing that serves imports it.
 */
import { createHash, randomUUID } from 'node:crypto'
import { access, constants, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Precision } from '../embedding/encoder-file.ts'
import { encoderGraph } from './encoder-graph.ts'
import { onnxBytes } from './onnx-file.ts'
import { readRanges } from './ranges.ts'
import { parseSafetensors } from './safetensors.ts'

/** Vectors are stored under the name of their model. Other weights under the same name would be compared with them. */
const WEIGHTS_SHA256 = '6638f625a0a60bdaa1e34c5fee0a17c705f13b98b43a7973e9d366106a55273d'

export async function buildEncoder(weightsPath: string, path: string, precision: Precision): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  // Before the work: a matcher that may not write there tries again each minute.
  await access(dirname(path), constants.W_OK)
  const weights = await readFile(weightsPath)
  if (createHash('sha256').update(weights).digest('hex') !== WEIGHTS_SHA256)
    throw new Error(`${weightsPath} does not hold the weights that the gates were proven with (npm ci restores them)`)
  // Readers of the path see the whole file or none, and two builders only do the same work twice.
  const draft = `${path}.${randomUUID()}`
  try {
    await writeFile(draft, onnxBytes(encoderGraph(parseSafetensors(weights), precision, readRanges())), { flush: true })
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

if (import.meta.main) {
  const [weightsPath = '', path = '', precision] = process.argv.slice(2)
  try {
    await buildEncoder(weightsPath, path, precision === 'fp32' ? 'fp32' : 'int8')
  } catch (error) {
    process.stderr.write(error instanceof Error ? error.message : 'unknown')
    process.exitCode = 1
  }
}
