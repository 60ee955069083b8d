import assert from 'node:assert/strict'

/**
 * Linear discriminant analysis: every topic is a cloud of the same shape around its own mean. Solved, not searched: there
 * is no step size and no order of examples, so that the same texts give the same weights. Measured against logistic
 * regression over the same topics: as good (4.7 against 4.4 % of sensitive texts passed where 15 % of commercial ones are
 * lost), and 200 times faster, which is what makes leaving out one topic after the other affordable.
 */

export interface Example {
  topic: string
  vector: Float32Array
}

export interface Line {
  topic: string
  bias: number
  weights: Float32Array
}

export interface FitOptions {
  /** How far the shape of the clouds is drawn towards a ball: 72 examples say little about 384 dimensions. */
  shrinkage: number
  /** Levels are multiplied by it, because they are surer of themselves than they have reason to be. */
  temper: number
}

export function fit(examples: readonly Example[], { shrinkage, temper }: FitOptions): Line[] {
  const dimensions = examples[0]?.vector.length ?? assert.fail('nothing to learn from')
  const groups = Map.groupBy(examples, (example) => example.topic)
  const topics = [...groups.keys()].toSorted()
  const means = new Map(topics.map((topic) => [topic, meanOf(groups.get(topic) ?? [], dimensions)]))
  const covariance = covarianceOf(examples, means, dimensions)
  shrink(covariance, dimensions, shrinkage)
  const root = choleskyOf(covariance, dimensions)
  return topics.map((topic) => {
    const mean = means.get(topic) ?? assert.fail()
    const weights = solve(root, mean, dimensions)
    const share = (groups.get(topic)?.length ?? 0) / examples.length
    const bias = Math.log(share) - 0.5 * product(weights, mean)
    return { topic, bias: bias * temper, weights: Float32Array.from(weights, (weight) => weight * temper) }
  })
}

function meanOf(examples: readonly Example[], dimensions: number): Float64Array {
  const mean = new Float64Array(dimensions)
  for (const { vector } of examples) addTo(mean, vector)
  return mean.map((sum) => sum / examples.length)
}

/** Within topics, as the lower triangle of a square. */
function covarianceOf(
  examples: readonly Example[],
  means: ReadonlyMap<string, Float64Array>,
  dimensions: number,
): Float64Array {
  const covariance = new Float64Array(dimensions * dimensions)
  const offsets = new Float64Array(dimensions)
  for (const { topic, vector } of examples) {
    const mean = means.get(topic) ?? assert.fail()
    for (let index = 0; index < dimensions; index++) offsets[index] = at(vector, index) - at(mean, index)
    for (let row = 0; row < dimensions; row++) {
      const value = at(offsets, row) / examples.length
      const start = row * dimensions
      for (let column = 0; column <= row; column++)
        covariance[start + column] = at(covariance, start + column) + value * at(offsets, column)
    }
  }
  return covariance
}

function shrink(covariance: Float64Array, dimensions: number, shrinkage: number): void {
  let trace = 0
  for (let index = 0; index < dimensions; index++) trace += at(covariance, index * dimensions + index)
  for (const [index, value] of covariance.entries()) covariance[index] = value * (1 - shrinkage)
  for (let index = 0; index < dimensions; index++) {
    const diagonal = index * dimensions + index
    covariance[diagonal] = at(covariance, diagonal) + (shrinkage * trace) / dimensions
  }
}

/** The lower triangle whose square the matrix is. */
function choleskyOf(matrix: Float64Array, size: number): Float64Array {
  const root = new Float64Array(size * size)
  for (let row = 0; row < size; row++) {
    for (let column = 0; column <= row; column++) {
      let value = at(matrix, row * size + column)
      for (let index = 0; index < column; index++)
        value -= at(root, row * size + index) * at(root, column * size + index)
      root[row * size + column] = row === column ? Math.sqrt(value) : value / at(root, column * size + column)
    }
  }
  return root
}

function solve(root: Float64Array, right: Float64Array, size: number): Float64Array {
  const half = new Float64Array(size)
  for (let row = 0; row < size; row++) {
    let value = at(right, row)
    for (let index = 0; index < row; index++) value -= at(root, row * size + index) * at(half, index)
    half[row] = value / at(root, row * size + row)
  }
  const solution = new Float64Array(size)
  for (let row = size - 1; row >= 0; row--) {
    let value = at(half, row)
    for (let index = row + 1; index < size; index++) value -= at(root, index * size + row) * at(solution, index)
    solution[row] = value / at(root, row * size + row)
  }
  return solution
}

function product(left: Float64Array, right: Float64Array): number {
  return left.reduce((sum, value, index) => sum + value * at(right, index), 0)
}

/** Every index here is within bounds; the type system cannot know. */
function at(numbers: Float64Array | Float32Array, index: number): number {
  return numbers[index] ?? 0
}

function addTo(sum: Float64Array, vector: Float32Array): void {
  for (const [index, value] of vector.entries()) sum[index] = at(sum, index) + value
}
