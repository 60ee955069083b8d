import { TOKENS_MAX, type Precision } from '../embedding/encoder-file.ts'
import type { Graph, GraphNode, Tensor } from './onnx-file.ts'
import type { Ranges } from './ranges.ts'
import type { Weights } from './safetensors.ts'

/**
 * all-MiniLM-L6-v2 as a graph: BERT with 6 layers of 12 heads, the mean over all tokens, and unit length.
 *
 * In int8, numbers that go into a weight matrix are bytes. Each channel of them has a step of its own, from the range that
 * it had in texts of ours (`ranges.json`), and the weights are multiplied by it: that costs nothing when the graph runs.
 * To look for the range of every token instead takes half as long again and is less exact (mean cosine to full precision
 * .996 against .998). The runtime's own dynamic quantisation takes one range for a whole batch: less exact still (.994),
 * and a text's vector would depend on what else is in its batch.
 */

const HIDDEN = 384
const INNER = 1536
const LAYERS = 6
const HEADS = 12
const VOCABULARY = 30_522
const POSITIONS = 512
const NORM_EPSILON = 1e-12
/** The largest step of an int8. */
const STEPS = 127
/** The unsigned byte that means zero: numbers that are positive and negative alike, and those that leave GELU. */
const ZERO = { middle: 128, low: 32 } as const
/** Nothing that leaves GELU is lower. */
const GELU_FLOOR = -0.17

interface Draft {
  precision: Precision
  weights: Weights
  ranges: Ranges
  nodes: GraphNode[]
  tensors: Tensor[]
}

export function encoderGraph(weights: Weights, precision: Precision, ranges: Ranges): Graph {
  const draft: Draft = { precision, weights, ranges, nodes: [], tensors: [] }
  if (precision === 'int8') addConstants(draft)
  let hidden = addEmbeddings(draft)
  for (let layer = 0; layer < LAYERS; layer++) hidden = addLayer(draft, layer, hidden)
  addPooling(draft, hidden.output)
  return {
    nodes: draft.nodes,
    weights: draft.tensors,
    inputs: [
      { name: 'tokens', type: 'int64', dims: ['texts', 'length'] },
      { name: 'positions', type: 'int64', dims: ['length'] },
      // 1 for tokens, 0 for padding, once for attention and once for the mean.
      { name: 'keys', type: 'int32', dims: ['texts', 'length'] },
      { name: 'mask', type: 'float', dims: ['texts', 1, 'length'] },
    ],
    outputs: [{ name: 'vectors', type: 'float', dims: ['texts', 1, HIDDEN] }],
  }
}

/** All that goes into weight matrices, and how many channels it has. */
export function matrixInputs(): Map<string, number> {
  const layers = Array.from({ length: LAYERS }, (_, n) => `encoder.layer.${n}`)
  const norms = layers.flatMap((layer) => [`${layer}.attention.output.LayerNorm`, `${layer}.output.LayerNorm`])
  const normed = ['embeddings.LayerNorm', ...norms.slice(0, -1)].map((norm) => `${norm}.output`)
  return new Map([
    ...[...normed, ...layers.map((layer) => `${layer}.attended`)].map((name) => [name, HIDDEN] as const),
    ...layers.map((layer) => [`${layer}.gelu`, INNER] as const),
  ])
}

function addEmbeddings(draft: Draft): Norm {
  const { weights } = draft
  addWordTable(draft, weights.read('embeddings.word_embeddings.weight', VOCABULARY, HIDDEN))
  const positions = weights.read('embeddings.position_embeddings.weight', POSITIONS, HIDDEN)
  const kinds = weights.read('embeddings.token_type_embeddings.weight', 2, HIDDEN)
  // All tokens are of the first kind, so that its vector is part of every position's.
  const table = positions.subarray(0, TOKENS_MAX * HIDDEN).map((value, index) => value + (kinds[index % HIDDEN] ?? 0))
  addTensor(draft, 'position_table', 'float', [TOKENS_MAX, HIDDEN], table)
  add(draft, 'Gather', ['position_table', 'positions'], 'position')
  add(draft, 'Add', ['word', 'position'], 'embedded')
  return addNorm(draft, 'embeddings.LayerNorm', 'embedded')
}

/** A row of the table is a word, with a scale of its own when it is kept as int8. */
function addWordTable(draft: Draft, table: Float32Array): void {
  if (draft.precision === 'fp32') {
    addTensor(draft, 'word_table', 'float', [VOCABULARY, HIDDEN], table)
    add(draft, 'Gather', ['word_table', 'tokens'], 'word')
    return
  }
  const { bytes, scales } = quantize(table, HIDDEN)
  addTensor(draft, 'word_table', 'int8', [VOCABULARY, HIDDEN], bytes)
  addTensor(draft, 'word_scales', 'float', [VOCABULARY, 1], scales)
  add(draft, 'Gather', ['word_table', 'tokens'], 'word_bytes')
  add(draft, 'Gather', ['word_scales', 'tokens'], 'word_scale')
  draft.nodes.push({ operator: 'Cast', inputs: ['word_bytes'], outputs: ['word_steps'], integers: { to: 1 } })
  add(draft, 'Mul', ['word_steps', 'word_scale'], 'word')
}

function addLayer(draft: Draft, layer: number, input: Norm): Norm {
  const name = `encoder.layer.${layer}`
  const seen = roundNorm(draft, input)
  const attended = `${name}.attended`
  const attendedSteps = stepsOf(draft, attended, 'middle')
  const parts = ['query', 'key', 'value'].map((part) => {
    // Attention only weighs values, so that they may be counted in its steps already.
    const steps = part === 'value' ? attendedSteps : undefined
    return addDense(draft, `${name}.attention.self.${part}`, HIDDEN, HIDDEN, seen, steps)
  })
  draft.nodes.push({
    operator: 'MultiHeadAttention',
    domain: 'com.microsoft',
    inputs: [...parts, '', 'keys'],
    outputs: [attended],
    integers: { num_heads: HEADS },
  })
  const noticed = addRounding(draft, { exact: attended, inSteps: attended, steps: attendedSteps, zero: 'middle' })
  const attention = addDense(draft, `${name}.attention.output.dense`, HIDDEN, HIDDEN, noticed)
  const middle = addNorm(draft, `${name}.attention.output.LayerNorm`, attention, input.output)
  const wide = addDense(draft, `${name}.intermediate.dense`, HIDDEN, INNER, roundNorm(draft, middle))
  const bent = `${name}.gelu`
  draft.nodes.push({ operator: 'Gelu', domain: 'com.microsoft', inputs: [wide], outputs: [bent] })
  const narrow = addDense(draft, `${name}.output.dense`, INNER, HIDDEN, roundGelu(draft, bent))
  return addNorm(draft, `${name}.output.LayerNorm`, narrow, middle.output)
}

/** The sum instead of the mean, because the length is made one afterwards. */
function addPooling(draft: Draft, hidden: string): void {
  add(draft, 'MatMul', ['mask', hidden], 'sum')
  draft.nodes.push({
    operator: 'LpNormalization',
    inputs: ['sum'],
    outputs: ['vectors'],
    integers: { axis: -1, p: 2 },
  })
}

/** The input of a matrix: exact, or as bytes, of which each channel has steps of its own size. */
interface Rounded {
  exact: string
  bytes: string
  steps: Float32Array
  zero: keyof typeof ZERO
}

function addConstants(draft: Draft): void {
  addTensor(draft, 'one', 'float', [], Float32Array.of(1))
  for (const [name, byte] of Object.entries(ZERO)) addTensor(draft, `zero.${name}`, 'uint8', [], Uint8Array.of(byte))
}

/** The size of a channel's step: its range fills the bytes above zero, and whatever GELU lets through those below. */
function stepsOf(draft: Draft, name: string, zero: Rounded['zero']): Float32Array {
  const range = draft.precision === 'int8' ? draft.ranges(name) : new Float32Array()
  if (zero === 'middle') return range.map((most) => most / STEPS)
  return range.map((most) => Math.max(most / (255 - ZERO.low), -GELU_FLOOR / ZERO.low))
}

interface InSteps extends Omit<Rounded, 'bytes'> {
  /** The same numbers, counted in steps. */
  inSteps: string
}

function addRounding(draft: Draft, { inSteps, ...counted }: InSteps): Rounded {
  const bytes = `${counted.exact}.bytes`
  if (draft.precision === 'int8') add(draft, 'QuantizeLinear', [inSteps, 'one', `zero.${counted.zero}`], bytes)
  return { ...counted, bytes }
}

/** Normalised once more, in steps: that takes half as long as to divide what is normalised. */
function roundNorm(draft: Draft, { name, sum, output }: Norm): Rounded {
  const steps = stepsOf(draft, output, 'middle')
  const inSteps = `${output}.inSteps`
  if (draft.precision === 'int8') {
    const perStep = (values: Float32Array) => values.map((value, channel) => value / (steps[channel] ?? 1))
    addTensor(draft, `${name}.weight.inSteps`, 'float', [HIDDEN], perStep(draft.weights.read(`${name}.weight`, HIDDEN)))
    addTensor(draft, `${name}.bias.inSteps`, 'float', [HIDDEN], perStep(draft.weights.read(`${name}.bias`, HIDDEN)))
    addNormalization(draft, [sum, `${name}.weight.inSteps`, `${name}.bias.inSteps`], inSteps)
  }
  return addRounding(draft, { exact: output, inSteps, steps, zero: 'middle' })
}

function roundGelu(draft: Draft, exact: string): Rounded {
  const steps = stepsOf(draft, exact, 'low')
  const [inSteps, perStep] = [`${exact}.inSteps`, `${exact}.perStep`]
  if (draft.precision === 'int8') {
    addTensor(
      draft,
      perStep,
      'float',
      [INNER],
      Float32Array.from(steps, (step) => 1 / step),
    )
    add(draft, 'Mul', [exact, perStep], inSteps)
  }
  return addRounding(draft, { exact, inSteps, steps, zero: 'low' })
}

/** With `outputSteps`, the outputs are counted in those. */
function addDense(
  draft: Draft,
  name: string,
  from: number,
  to: number,
  input: Rounded,
  outputSteps?: Float32Array,
): string {
  const weight = draft.weights.read(`${name}.weight`, to, from)
  const bias = draft.weights.read(`${name}.bias`, to)
  const output = `${name}.output`
  if (draft.precision === 'fp32') {
    addTensor(draft, `${name}.weight`, 'float', [from, to], transposed(weight, to, from))
    addTensor(draft, `${name}.bias`, 'float', [to], bias)
    add(draft, 'MatMul', [input.exact, `${name}.weight`], `${name}.product`)
    add(draft, 'Add', [`${name}.product`, `${name}.bias`], output)
    return output
  }
  const { bytes, scales } = quantize(
    weight.map((value, n) => value * (input.steps[n % from] ?? 1)),
    from,
  )
  const perOutput = (values: Float32Array) => values.map((value, n) => value / (outputSteps?.[n] ?? 1))
  addTensor(draft, `${name}.weight`, 'int8', [from, to], transposed(bytes, to, from))
  addTensor(draft, `${name}.scales`, 'float', [to], perOutput(scales))
  addTensor(draft, `${name}.bias`, 'float', [to], perOutput(bias))
  draft.nodes.push({
    operator: 'MatMulIntegerToFloat',
    domain: 'com.microsoft',
    inputs: [input.bytes, `${name}.weight`, 'one', `${name}.scales`, `zero.${input.zero}`, '', `${name}.bias`],
    outputs: [output],
  })
  return output
}

interface Norm {
  name: string
  /** The sum that is normalised. */
  sum: string
  output: string
}

/** With `residual`, what is normalised is the sum of both. The runtime has one operator for that, which is slower. */
function addNorm(draft: Draft, name: string, input: string, residual?: string): Norm {
  const sum = residual === undefined ? input : `${name}.sum`
  const output = `${name}.output`
  if (residual !== undefined) add(draft, 'Add', [input, residual], sum)
  addTensor(draft, `${name}.weight`, 'float', [HIDDEN], draft.weights.read(`${name}.weight`, HIDDEN))
  addTensor(draft, `${name}.bias`, 'float', [HIDDEN], draft.weights.read(`${name}.bias`, HIDDEN))
  addNormalization(draft, [sum, `${name}.weight`, `${name}.bias`], output)
  return { name, sum, output }
}

function addNormalization(draft: Draft, inputs: string[], output: string): void {
  const options = { floats: { epsilon: NORM_EPSILON }, integers: { axis: -1 } }
  draft.nodes.push({ operator: 'LayerNormalization', inputs, outputs: [output], ...options })
}

function add(draft: Draft, operator: string, inputs: string[], output: string): void {
  draft.nodes.push({ operator, inputs, outputs: [output] })
}

function addTensor(draft: Draft, name: string, type: Tensor['type'], dims: number[], data: Tensor['data']): void {
  draft.tensors.push({ name, type, dims, data })
}

/** One scale for every row of a matrix: the largest of the row is 127 steps from zero. */
function quantize(values: Float32Array, row: number): { bytes: Int8Array; scales: Float32Array } {
  const bytes = new Int8Array(values.length)
  const scales = new Float32Array(values.length / row)
  for (let start = 0; start < values.length; start += row) {
    const part = values.subarray(start, start + row)
    const scale = part.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / STEPS
    scales[start / row] = scale
    if (scale > 0) for (const [index, value] of part.entries()) bytes[start + index] = Math.round(value / scale)
  }
  return { bytes, scales }
}

function transposed<T extends Float32Array | Int8Array>(matrix: T, rows: number, columns: number): T {
  const turned = matrix.slice()
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      turned[column * rows + row] = matrix[row * columns + column] ?? 0
    }
  }
  return turned as T
}
