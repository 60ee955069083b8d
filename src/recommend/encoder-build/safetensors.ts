import assert from 'node:assert/strict'

/** Reads weights out of a safetensors file: a length, a JSON head that says where each tensor lies, and the numbers. */

export interface Weights {
  /** Throws when the file has no such tensor, or one of another shape. */
  read(name: string, ...shape: number[]): Float32Array
}

interface Entry {
  dtype: string
  shape: number[]
  data_offsets: [number, number]
}

const HEAD_LENGTH_BYTES = 8

export function parseSafetensors(file: Buffer): Weights {
  const headLength = Number(file.readBigUInt64LE(0))
  const start = HEAD_LENGTH_BYTES + headLength
  const head = JSON.parse(file.toString('utf8', HEAD_LENGTH_BYTES, start)) as Record<string, Entry | undefined>
  return {
    read(name, ...shape) {
      const entry = head[name]
      assert(entry, `the weights have no tensor ${name}`)
      assert.deepEqual(entry.shape, shape, `${name} has another shape`)
      assert.equal(entry.dtype, 'F16', `${name} has another type`)
      const [from, to] = entry.data_offsets
      // Copied, because a view of 16-bit numbers must begin at an even address.
      const halves = new Float16Array(Uint8Array.from(file.subarray(start + from, start + to)).buffer)
      return Float32Array.from(halves)
    },
  }
}
