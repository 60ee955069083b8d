/**
 * Vectors of embeddings as they are passed on and kept: the base64 of their numbers, each in 32 bits, the lowest byte first. That
 * is one string whatever a provider sends, a quarter of the same numbers as text, and what SDKs ask for.
 */

const BYTES_PER_NUMBER = 4

/** How many characters a vector of so many numbers has. */
export function vectorCharacters(dimensions: number): number {
  return Math.ceil((dimensions * BYTES_PER_NUMBER) / 3) * 4
}

/** From a list of numbers, or from base64 as others write it. Undefined for anything else, also where a number is none. */
export function vectorOf(value: unknown): { vector: string; dimensions: number } | undefined {
  const numbers = typeof value === 'string' ? numbersIn(value) : numbersOf(value)
  if (!numbers || numbers.length === 0 || !numbers.every(Number.isFinite)) return undefined
  return { vector: Buffer.from(numbers.buffer).toString('base64'), dimensions: numbers.length }
}

/** The numbers of a vector. */
export function numbersOfVector(vector: string): Float32Array {
  return numbersIn(vector) ?? new Float32Array()
}

function numbersOf(value: unknown): Float32Array<ArrayBuffer> | undefined {
  return Array.isArray(value) && value.every(isNumber) ? Float32Array.from(value) : undefined
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}

function numbersIn(base64: string): Float32Array<ArrayBuffer> | undefined {
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.length % BYTES_PER_NUMBER !== 0) return undefined
  // Into memory of its own: a small buffer is a part of a larger one.
  return new Float32Array(Uint8Array.from(bytes).buffer)
}
