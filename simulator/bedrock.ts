/** Amazon Bedrock's Converse: the model is in the path, and streams are frames of bytes with checksums. */
import { crc32 } from 'node:zlib'
import { messagesIn } from './bedrock-messages.ts'
import { checkModelFields } from './bedrock-models.ts'
import { conversePlan } from './cache-marks.ts'
import type { Answer, ChatRequest, Dialect, ReportedUsage, StreamEvent } from './dialect.ts'
import { isRecord } from './record.ts'
import { Refusal } from './refusal.ts'
import { textOf } from './reply.ts'
import type { Tool } from './reply.ts'
import { signatureOf } from './thinking.ts'

export const bedrock: Dialect = {
  format: 'bedrock',
  idPrefix: 'bedrock-sim-',
  eventNames: { content: 'contentBlockDelta', error: 'internalServerException' },
  framing: { contentType: 'application/vnd.amazon.eventstream', frame: frameOf, beginning: frameBeginning },
  serves: (method, path) => method === 'POST' && METHOD.test(path),
  credentialIn: ({ authorization }) =>
    /^(?:Bearer .|AWS4-HMAC-SHA256 )/.test(authorization ?? '') ? authorization : undefined,
  refusalOfKey,
  read,
  caching: (body, { model }) => conversePlan(body, model),
  errorBody: (_, message) => ({ message }),
  json,
  events,
}

const METHOD = /^\/model\/([^/]+)\/(converse|converse-stream)$/
const STOP_REASONS = { stop: 'end_turn', length: 'max_tokens', tool: 'tool_use' } as const

function refusalOfKey(credential: string | undefined): Refusal | undefined {
  if (credential === undefined) return new Refusal(403, 'Missing Authentication Token')
  return credential.includes('bad-key') ? new Refusal(403, 'The security token is invalid.') : undefined
}

const BODY_FIELDS = new Set([
  'messages',
  'system',
  'inferenceConfig',
  'toolConfig',
  'additionalModelRequestFields',
  'additionalModelResponseFieldPaths',
])

function read(body: unknown, url: string): ChatRequest {
  const [, name = '', method] = METHOD.exec(url) ?? []
  if (!isRecord(body)) throw new Refusal(400, 'the body must be a JSON object')
  const unknown = Object.keys(body).find((field) => !BODY_FIELDS.has(field))
  if (unknown !== undefined) throw new Refusal(400, `extraneous key [${unknown}] is not permitted`)
  const inference = isRecord(body.inferenceConfig) ? body.inferenceConfig : {}
  if (Number(inference.temperature ?? 0) > 1) throw new Refusal(400, 'temperature must be at most 1')
  const tools = toolsIn(body.toolConfig)
  const model = decodeURIComponent(name)
  const tokensMax = tokensMaxOf(inference.maxTokens)
  const { thinking } = isRecord(body.additionalModelRequestFields) ? body.additionalModelRequestFields : {}
  const messages = messagesIn(body.messages, body.system, { hasTools: tools.length > 0, thinking })
  const wantsThoughts = checkModelFields(body, { model, tokensMax, messages })
  return { model, stream: method === 'converse-stream', wantsUsage: true, tokensMax, messages, tools, wantsThoughts }
}

function tokensMaxOf(value: unknown): number | undefined {
  if (value == null) return undefined
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
    throw new Refusal(400, 'maxTokens must be a positive integer')
  }
  return value
}

function toolsIn(config: unknown): Tool[] {
  if (config == null) return []
  if (!isRecord(config) || !Array.isArray(config.tools) || config.tools.length === 0) {
    throw new Refusal(400, 'toolConfig.tools must have at least one member')
  }
  return config.tools.filter(isNoPoint).map((tool) => {
    const spec = isRecord(tool) && isRecord(tool.toolSpec) ? tool.toolSpec : {}
    const schema = isRecord(spec.inputSchema) ? spec.inputSchema.json : undefined
    if (typeof spec.name !== 'string' || !isRecord(schema) || schema.type !== 'object') {
      throw new Refusal(400, 'a tool must have a name and the schema of an object')
    }
    return { name: spec.name, parameters: schema }
  })
}

function isNoPoint(block: unknown): boolean {
  return !isRecord(block) || block.cachePoint === undefined
}

function json(answer: Answer): unknown {
  const { reply, usage } = answer
  const text = textOf(reply.pieces)
  const reasoningText = { text: textOf(reply.thoughts), signature: signatureOf(answer.id) }
  const content = [
    ...(reply.thoughts.length > 0 ? [{ reasoningContent: { reasoningText } }] : []),
    ...(reply.tool
      ? Array.from({ length: reply.calls }, (_, n) => ({
          toolUse: { ...toolUse(answer, n), input: JSON.parse(text) as unknown },
        }))
      : [{ text }]),
  ]
  return {
    metrics: { latencyMs: 1 },
    output: { message: { role: 'assistant', content } },
    stopReason: answer.finish ?? STOP_REASONS[reply.finish],
    ...(usage && { usage: usageBody(usage) }),
  }
}

function* events(answer: Answer): Generator<StreamEvent> {
  const { reply, usage } = answer
  yield event('open', 'messageStart', { role: 'assistant' })
  let contentBlockIndex = 0
  if (reply.thoughts.length > 0) {
    for (const { text, tokens } of reply.thoughts) {
      const thought = event('content', 'contentBlockDelta', {
        contentBlockIndex,
        delta: { reasoningContent: { text } },
      })
      yield { ...thought, thoughtTokens: tokens }
    }
    const signed = { reasoningContent: { signature: signatureOf(answer.id) } }
    yield event('open', 'contentBlockDelta', { contentBlockIndex, delta: signed })
    yield event('open', 'contentBlockStop', { contentBlockIndex })
    contentBlockIndex++
  }
  const blocks = Math.max(reply.calls, 1)
  for (let n = 0; n < blocks; n++, contentBlockIndex++) {
    if (reply.tool) {
      const start = { toolUse: toolUse(answer, n) }
      yield event('content', 'contentBlockStart', { contentBlockIndex, start }, reply.tool.nameTokens)
    }
    for (const { text, tokens } of reply.pieces) {
      const delta = reply.tool ? { toolUse: { input: text } } : { text }
      yield event('content', 'contentBlockDelta', { contentBlockIndex, delta }, tokens)
    }
    yield event(n === blocks - 1 ? 'close' : 'open', 'contentBlockStop', { contentBlockIndex })
  }
  yield event('close', 'messageStop', { stopReason: answer.finish ?? STOP_REASONS[reply.finish] })
  yield event('done', 'metadata', { ...(usage && { usage: usageBody(usage) }), metrics: { latencyMs: 1 } })
}

function event(kind: StreamEvent['kind'], name: string, data: Record<string, unknown>, tokens = 0): StreamEvent {
  // Padding, so that nobody on the way can tell tokens by their length.
  return { kind, name, data: JSON.stringify({ ...data, p: 'abcdefghijk' }), tokens }
}

function toolUse({ id, reply }: Answer, n: number): Record<string, unknown> {
  return { toolUseId: `tooluse_${id}${n === 0 ? '' : `_${n}`}`, name: reply.tool?.name }
}

/** Thoughts are part of the output and are not told apart. */
function usageBody(usage: ReportedUsage): Record<string, unknown> {
  return {
    inputTokens: usage.fresh,
    outputTokens: usage.completion,
    totalTokens: usage.total,
    cacheReadInputTokens: usage.cached,
    cacheWriteInputTokens: usage.cacheWrite,
  }
}

/** Two lengths, their checksum, headers, payload, and the checksum of it all. */
export function frameOf({ data, name = '' }: Pick<StreamEvent, 'data' | 'name'>): Buffer {
  const isException = name.endsWith('Exception')
  const headers = Buffer.concat([
    header(isException ? ':exception-type' : ':event-type', name),
    header(':content-type', 'application/json'),
    header(':message-type', isException ? 'exception' : 'event'),
  ])
  const payload = Buffer.from(data)
  const prelude = Buffer.alloc(8)
  prelude.writeUInt32BE(headers.length + payload.length + 16, 0)
  prelude.writeUInt32BE(headers.length, 4)
  const whole = Buffer.concat([prelude, checksumOf(prelude), headers, payload])
  return Buffer.concat([whole, checksumOf(whole)])
}

function frameBeginning(bytes: number): Buffer {
  const prelude = Buffer.alloc(8)
  prelude.writeUInt32BE(bytes, 0)
  return Buffer.concat([prelude, checksumOf(prelude)])
}

const STRING = 7

function header(name: string, value: string): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(Buffer.byteLength(value))
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([STRING]),
    length,
    Buffer.from(value),
  ])
}

function checksumOf(bytes: Buffer): Buffer {
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(bytes))
  return checksum
}
