import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cosine, cosineInt8, toInt8, VECTOR_DIMENSIONS } from './vectors.ts'

test('rounding to bytes moves the cosine of two unit vectors by less than a hundredth', () => {
  for (let pair = 1; pair <= 50; pair++) {
    const left = unitVector(pair)
    const right = unitVector(pair * 7 + 3)
    assert.ok(Math.abs(cosineInt8(toInt8(left), toInt8(right)) - cosine(left, right)) < 0.01)
  }
})

test('a vector is exactly like itself and exactly unlike its opposite', () => {
  const vector = unitVector(5)
  const opposite = vector.map((component) => -component)
  assert.ok(Math.abs(cosineInt8(toInt8(vector), toInt8(vector)) - 1) < 1e-12)
  assert.ok(Math.abs(cosineInt8(toInt8(vector), toInt8(opposite)) + 1) < 1e-12)
})

test('a component of one keeps its sign instead of wrapping around', () => {
  assert.deepEqual([...toInt8(Float32Array.of(1, -1, 1.001, -1.001, 0))], [127, -127, 127, -127, 0])
})

test('a vector without a direction is like nothing', () => {
  assert.equal(cosineInt8(new Int8Array(4), Int8Array.of(1, 2, 3, 4)), 0)
})

test('vectors of different lengths are not compared', () => {
  assert.throws(() => cosineInt8(new Int8Array(3), new Int8Array(4)))
  assert.throws(() => cosine(new Float32Array(3), new Float32Array(4)))
})

/** Sines of growing steps: any vector will do, as long as it is always the same one. */
function unitVector(seed: number): Float32Array {
  const vector = Float32Array.from({ length: VECTOR_DIMENSIONS }, (_, index) => Math.sin(seed * 12.9 + index * seed))
  const length = Math.hypot(...vector)
  return vector.map((component) => component / length)
}
