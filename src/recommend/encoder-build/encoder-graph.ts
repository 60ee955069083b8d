import { TOKENS_MAX, type Precision } from '../embedding/encoder-file.ts'
import type { Graph, GraphNode, Tensor } from './onnx-file.ts'
import type { Weights } from './safetensors.ts'

/**
 * all-MiniLM-L6-v2 as a graph: BERT with 6 layers of 12 heads, the mean over all tokens, and unit length.
 *
 * In int8 every output of a weight matrix has a scale of its own, and so has every token that goes into one. The runtime's
 * own dynamic quantisation takes one scale for the whole batch instead: that is less exact (mean cosine to full precision
 * .994 against .998), and a text's vector would depend on what else is in its batch.
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
/** The unsigned byte that means zero, with as many steps below as above. */
const MIDDLE = 128
const BYTE_STEPS = 255
/** Nothing that leaves GELU is lower than -0.17. */
const GELU_FLOOR = 0.17

interface Draft {
  precision: Precision
  weights: Weights
  nodes: GraphNode[]
  tensors: Tensor[]
}

export function encoderGraph(weights: Weights, precision: Precision): Graph {
  const draft: Draft = { precision, weights, nodes: [], tensors: [] }
  if (precision === 'int8') addSteps(draft)
  let hidden = addEmbeddings(draft)
  for (let layer = 0; layer < LAYERS; layer++) hidden = addLayer(draft, layer, hidden)
  addPooling(draft, hidden)
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

function addEmbeddings(draft: Draft): string {
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

function addLayer(draft: Draft, layer: number, input: string): string {
  const name = `encoder.layer.${layer}`
  const seen = addRounding(draft, input, 'both-sided')
  const parts = ['query', 'key', 'value'].map((part) =>
    addDense(draft, `${name}.attention.self.${part}`, HIDDEN, HIDDEN, seen),
  )
  const attended = `${name}.attended`
  draft.nodes.push({
    operator: 'MultiHeadAttention',
    domain: 'com.microsoft',
    inputs: [...parts, '', 'keys'],
    outputs: [attended],
    integers: { num_heads: HEADS },
  })
  const noticed = addRounding(draft, attended, 'both-sided')
  const attention = addDense(draft, `${name}.attention.output.dense`, HIDDEN, HIDDEN, noticed)
  const middle = addNorm(draft, `${name}.attention.output.LayerNorm`, attention, input)
  const wide = addDense(draft, `${name}.intermediate.dense`, HIDDEN, INNER, addRounding(draft, middle, 'both-sided'))
  const bent = `${name}.gelu`
  draft.nodes.push({ operator: 'Gelu', domain: 'com.microsoft', inputs: [wide], outputs: [bent] })
  const narrow = addDense(draft, `${name}.output.dense`, INNER, HIDDEN, addRounding(draft, bent, 'gelu'))
  return addNorm(draft, `${name}.output.LayerNorm`, narrow, middle)
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

/** The input of a matrix: exact, or as bytes with the height that each token was divided by. */
interface Rounded {
  exact: string
  bytes: string
  height: string
  shape: 'both-sided' | 'gelu'
}

function addSteps(draft: Draft): void {
  addTensor(draft, 'both-sided.step', 'float', [], Float32Array.of(1 / STEPS))
  addTensor(draft, 'both-sided.zero', 'uint8', [], Uint8Array.of(MIDDLE))
  addTensor(draft, 'gelu.step', 'float', [], Float32Array.of(1 / BYTE_STEPS))
  addTensor(draft, 'gelu.zero', 'uint8', [], Uint8Array.of(0))
  addTensor(draft, 'gelu.lift', 'float', [], Float32Array.of(GELU_FLOOR))
}

/**
 * Every token's numbers are divided by the largest of them and rounded. GELU's are nearly all positive, so that they are
 * lifted above zero first and use all 255 steps; the bias of the matrix that they go into takes the lift out again.
 */
function addRounding(draft: Draft, exact: string, shape: Rounded['shape']): Rounded {
  const rounded = { exact, bytes: `${exact}.bytes`, height: `${exact}.height`, shape }
  if (draft.precision === 'fp32') return rounded
  const lifted = shape === 'gelu' ? `${exact}.lifted` : exact
  const positive = shape === 'gelu' ? lifted : `${exact}.absolute`
  if (shape === 'gelu') add(draft, 'Add', [exact, 'gelu.lift'], lifted)
  else add(draft, 'Abs', [exact], positive)
  draft.nodes.push({
    operator: 'ReduceMax',
    inputs: [positive],
    outputs: [rounded.height],
    integers: { axes: [-1], keepdims: 1 },
  })
  add(draft, 'Div', [lifted, rounded.height], `${exact}.level`)
  add(draft, 'QuantizeLinear', [`${exact}.level`, `${shape}.step`, `${shape}.zero`], rounded.bytes)
  return rounded
}

function addDense(draft: Draft, name: string, from: number, to: number, input: Rounded): string {
  const weight = draft.weights.read(`${name}.weight`, to, from)
  const bias = draft.weights.read(`${name}.bias`, to)
  const product = `${name}.product`
  const output = `${name}.output`
  if (draft.precision === 'fp32') {
    addTensor(draft, `${name}.weight`, 'float', [from, to], transposed(weight, to, from))
    add(draft, 'MatMul', [input.exact, `${name}.weight`], product)
  } else {
    const { bytes, scales } = quantize(weight, from)
    if (input.shape === 'gelu') takeOut(bias, bytes, scales)
    addTensor(draft, `${name}.weight`, 'int8', [from, to], transposed(bytes, to, from))
    addTensor(draft, `${name}.scales`, 'float', [to], scales)
    const { shape } = input
    draft.nodes.push({
      operator: 'MatMulIntegerToFloat',
      domain: 'com.microsoft',
      inputs: [input.bytes, `${name}.weight`, `${shape}.step`, `${name}.scales`, `${shape}.zero`],
      outputs: [`${name}.level`],
    })
    add(draft, 'Mul', [`${name}.level`, input.height], product)
  }
  addTensor(draft, `${name}.bias`, 'float', [to], bias)
  add(draft, 'Add', [product, `${name}.bias`], output)
  return output
}

/** The lift of GELU's numbers adds the same to every output, whatever the text is. */
function takeOut(bias: Float32Array, weights: Int8Array, scales: Float32Array): void {
  const inputs = weights.length / bias.length
  for (const [output, scale] of scales.entries()) {
    const sum = weights.subarray(output * inputs, (output + 1) * inputs).reduce((total, value) => total + value, 0)
    bias[output] = (bias[output] ?? 0) - GELU_FLOOR * scale * sum
  }
}

/** With `residual`, what is normalised is the sum of both. */
function addNorm(draft: Draft, name: string, input: string, residual?: string): string {
  addTensor(draft, `${name}.weight`, 'float', [HIDDEN], draft.weights.read(`${name}.weight`, HIDDEN))
  addTensor(draft, `${name}.bias`, 'float', [HIDDEN], draft.weights.read(`${name}.bias`, HIDDEN))
  const learned = [`${name}.weight`, `${name}.bias`]
  const outputs = [`${name}.output`]
  const floats = { epsilon: NORM_EPSILON }
  if (residual === undefined) {
    const integers = { axis: -1 }
    draft.nodes.push({ operator: 'LayerNormalization', inputs: [input, ...learned], outputs, floats, integers })
  } else {
    const operator = 'SkipLayerNormalization'
    draft.nodes.push({ operator, domain: 'com.microsoft', inputs: [input, residual, ...learned], outputs, floats })
  }
  return `${name}.output`
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
