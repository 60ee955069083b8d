/**
 * Writes ONNX models: the few messages of the format (protocol buffers, https://onnx.ai) that a graph of our own needs.
 * Numbers in `FIELD` are the format's.
 */

export interface Tensor {
  name: string
  type: 'float' | 'uint8' | 'int8' | 'int64'
  dims: readonly number[]
  data: Float32Array | Uint8Array | Int8Array | BigInt64Array
}

export interface GraphNode {
  operator: string
  /** An absent optional input is an empty name. */
  inputs: readonly string[]
  outputs: readonly string[]
  /** Operators beyond the standard; undefined: a standard one. */
  domain?: 'com.microsoft'
  integers?: Readonly<Record<string, number | readonly number[]>>
  floats?: Readonly<Record<string, number>>
}

/** A named dimension is only known when the graph runs. */
export interface GraphPort {
  name: string
  type: 'float' | 'int32' | 'int64'
  dims: readonly (number | string)[]
}

export interface Graph {
  nodes: readonly GraphNode[]
  weights: readonly Tensor[]
  inputs: readonly GraphPort[]
  outputs: readonly GraphPort[]
}

const ELEMENT_TYPES = { float: 1, uint8: 2, int8: 3, int32: 6, int64: 7 } as const
const FIELD = {
  model: { irVersion: 1, producer: 2, graph: 7, opset: 8 },
  opset: { domain: 1, version: 2 },
  graph: { node: 1, name: 2, weight: 5, input: 11, output: 12 },
  node: { input: 1, output: 2, operator: 4, attribute: 5, domain: 7 },
  attribute: { name: 1, float: 2, integer: 3, integers: 8, type: 20 },
  tensor: { dims: 1, type: 2, name: 8, raw: 9 },
  port: { name: 1, type: 2 },
} as const
const ATTRIBUTE_TYPES = { float: 1, integer: 2, integers: 7 } as const
const IR_VERSION = 9
const STANDARD_OPSET = 17

type Bytes = Uint8Array[]

export function onnxBytes(graph: Graph): Buffer {
  return Buffer.concat([
    ...integerField(FIELD.model.irVersion, IR_VERSION),
    ...textField(FIELD.model.producer, 'parley'),
    ...messageField(FIELD.model.graph, graphMessage(graph)),
    ...messageField(FIELD.model.opset, opsetMessage('', STANDARD_OPSET)),
    ...messageField(FIELD.model.opset, opsetMessage('com.microsoft', 1)),
  ])
}

function opsetMessage(domain: string, version: number): Bytes {
  return [...textField(FIELD.opset.domain, domain), ...integerField(FIELD.opset.version, version)]
}

function graphMessage(graph: Graph): Bytes {
  return [
    ...graph.nodes.flatMap((node) => messageField(FIELD.graph.node, nodeMessage(node))),
    ...textField(FIELD.graph.name, 'encoder'),
    ...graph.weights.flatMap((tensor) => messageField(FIELD.graph.weight, tensorMessage(tensor))),
    ...graph.inputs.flatMap((port) => messageField(FIELD.graph.input, portMessage(port))),
    ...graph.outputs.flatMap((port) => messageField(FIELD.graph.output, portMessage(port))),
  ]
}

function nodeMessage(node: GraphNode): Bytes {
  const { integers = {}, floats = {} } = node
  return [
    ...node.inputs.flatMap((name) => textField(FIELD.node.input, name)),
    ...node.outputs.flatMap((name) => textField(FIELD.node.output, name)),
    ...textField(FIELD.node.operator, node.operator),
    ...Object.entries(integers).flatMap(([name, value]) =>
      messageField(FIELD.node.attribute, integerAttribute(name, value)),
    ),
    ...Object.entries(floats).flatMap(([name, value]) =>
      messageField(FIELD.node.attribute, floatAttribute(name, value)),
    ),
    ...textField(FIELD.node.domain, node.domain ?? ''),
  ]
}

function integerAttribute(name: string, value: number | readonly number[]): Bytes {
  const title = textField(FIELD.attribute.name, name)
  if (typeof value === 'number') {
    const type = integerField(FIELD.attribute.type, ATTRIBUTE_TYPES.integer)
    return [...title, ...integerField(FIELD.attribute.integer, value), ...type]
  }
  const type = integerField(FIELD.attribute.type, ATTRIBUTE_TYPES.integers)
  return [...title, ...value.flatMap((one) => integerField(FIELD.attribute.integers, one)), ...type]
}

function floatAttribute(name: string, value: number): Bytes {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return [
    ...textField(FIELD.attribute.name, name),
    varint((BigInt(FIELD.attribute.float) << 3n) | 5n),
    bytes,
    ...integerField(FIELD.attribute.type, ATTRIBUTE_TYPES.float),
  ]
}

function tensorMessage(tensor: Tensor): Bytes {
  const { buffer, byteOffset, byteLength } = tensor.data
  return [
    ...tensor.dims.flatMap((dim) => integerField(FIELD.tensor.dims, dim)),
    ...integerField(FIELD.tensor.type, ELEMENT_TYPES[tensor.type]),
    ...textField(FIELD.tensor.name, tensor.name),
    ...messageField(FIELD.tensor.raw, [new Uint8Array(buffer, byteOffset, byteLength)]),
  ]
}

/** A port's type is a message in a message: tensor (1) of an element type (1) and a shape (2) of dimensions (1). */
function portMessage(port: GraphPort): Bytes {
  const shape = port.dims.flatMap((dim) =>
    messageField(1, typeof dim === 'number' ? integerField(1, dim) : textField(2, dim)),
  )
  const tensor = [...integerField(1, ELEMENT_TYPES[port.type]), ...messageField(2, shape)]
  return [...textField(FIELD.port.name, port.name), ...messageField(FIELD.port.type, messageField(1, tensor))]
}

function integerField(field: number, value: number): Bytes {
  // Negative numbers are written as the 64 bits of their complement.
  return [varint(BigInt(field) << 3n), varint(BigInt.asUintN(64, BigInt(value)))]
}

function textField(field: number, text: string): Bytes {
  return messageField(field, [Buffer.from(text)])
}

function messageField(field: number, parts: Bytes): Bytes {
  const length = parts.reduce((sum, part) => sum + part.byteLength, 0)
  return [varint((BigInt(field) << 3n) | 2n), varint(BigInt(length)), ...parts]
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = []
  let rest = value
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  return Uint8Array.of(...bytes, Number(rest))
}
