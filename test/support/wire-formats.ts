/** The wire formats in which Parley asks providers: how each is set up, and where in its requests stands what. */
import { fieldsIn } from '../../src/rules/record.ts'

export interface WireFormat {
  kind: string
  /** The path after the host in the base URL of the simulator. */
  path: string
  settings?: Record<string, unknown>
  upstreamModel: string
  /** The parts that a model signs, to have them sent back: the whole text of its thoughts, its calls of tools, or nothing. */
  signs: 'thoughts' | 'calls' | 'nothing'
  /** The first turn of a conversation that reads from the cache. */
  cachedFromTurn: number
  /** Any JSON can be asked for, and not only that of a schema. */
  hasAnyJson: boolean
  instructionsIn(body: unknown): string[]
  isThinkingAskedIn(body: unknown): boolean
  schemaIn(body: unknown): unknown
  callIdsIn(body: unknown): unknown[]
  resultsIn(body: unknown): ToolResult[]
  signaturesIn(body: unknown): unknown[]
}

export interface ToolResult {
  callId: unknown
  text: string
}

/** The values of all fields of this name, in order, however deep they stand. */
function valuesOf(value: unknown, name: string): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, each]) => (key === name ? [each] : valuesOf(each, name)))
}

function textsOf(value: unknown): string[] {
  return valuesOf(value, 'text').map(String)
}

/** Members of a list that have this value in this field. */
function having(list: unknown, name: string, value: string): Record<string, unknown>[] {
  return Array.isArray(list) ? list.map(fieldsIn).filter((fields) => fields[name] === value) : []
}

const messagesIn = (body: unknown) => fieldsIn(body).messages
const blocksIn = (body: unknown) => valuesOf(messagesIn(body), 'content').flat()

const openai: WireFormat = {
  kind: 'openai-compatible',
  path: '/v1',
  settings: { promptCacheKey: true, developerRole: true, reasoningField: 'reasoning_content' },
  upstreamModel: 'gpt',
  signs: 'nothing',
  cachedFromTurn: 2,
  hasAnyJson: true,
  instructionsIn: (body) =>
    ['system', 'developer']
      .flatMap((role) => having(messagesIn(body), 'role', role))
      .map(({ content }) => String(content)),
  isThinkingAskedIn: (body) => fieldsIn(body).reasoning_effort === 'low',
  schemaIn: (body) => valuesOf(fieldsIn(body).response_format, 'schema')[0],
  callIdsIn: (body) =>
    valuesOf(messagesIn(body), 'tool_calls')
      .flat()
      .map((call) => fieldsIn(call).id),
  resultsIn: (body) =>
    having(messagesIn(body), 'role', 'tool').map((result) => ({
      callId: result.tool_call_id,
      text: String(result.content),
    })),
  signaturesIn: (body) => valuesOf(body, 'reasoning_signature'),
}

const anthropic: WireFormat = {
  kind: 'anthropic',
  path: '/v1',
  upstreamModel: 'claude-sonnet-4-5',
  signs: 'thoughts',
  cachedFromTurn: 3,
  hasAnyJson: false,
  instructionsIn: (body) => textsOf(fieldsIn(body).system),
  isThinkingAskedIn: (body) => fieldsIn(body).thinking !== undefined,
  schemaIn: (body) => valuesOf(fieldsIn(body).output_config, 'schema')[0],
  callIdsIn: (body) => having(blocksIn(body), 'type', 'tool_use').map(({ id }) => id),
  resultsIn: (body) =>
    having(blocksIn(body), 'type', 'tool_result').map((result) => ({
      callId: result.tool_use_id,
      text: textsOf(result).join(''),
    })),
  signaturesIn: (body) => valuesOf(messagesIn(body), 'signature'),
}

const gemini: WireFormat = {
  kind: 'gemini',
  path: '/v1beta',
  upstreamModel: 'gemini-3-flash-preview',
  signs: 'calls',
  cachedFromTurn: 2,
  hasAnyJson: true,
  instructionsIn: (body) => textsOf(fieldsIn(body).systemInstruction),
  isThinkingAskedIn: (body) => valuesOf(body, 'includeThoughts')[0] === true,
  schemaIn: (body) => valuesOf(body, 'responseJsonSchema')[0],
  callIdsIn: (body) => valuesOf(body, 'functionCall').map((call) => fieldsIn(call).id),
  resultsIn: (body) =>
    valuesOf(body, 'functionResponse')
      .map(fieldsIn)
      .map(({ id, response }) => ({ callId: id, text: String(fieldsIn(response).result) })),
  signaturesIn: (body) => valuesOf(body, 'thoughtSignature'),
}

const bedrock: WireFormat = {
  kind: 'bedrock',
  path: '',
  settings: { region: 'eu-north-1' },
  upstreamModel: 'anthropic.claude-sonnet-4-5-20250929-v1:0',
  signs: 'thoughts',
  cachedFromTurn: 3,
  hasAnyJson: false,
  instructionsIn: (body) => textsOf(fieldsIn(body).system),
  isThinkingAskedIn: (body) => valuesOf(body, 'thinking').length > 0,
  schemaIn: (body) => valuesOf(fieldsIn(body).additionalModelRequestFields, 'schema')[0],
  callIdsIn: (body) => valuesOf(messagesIn(body), 'toolUse').map((call) => fieldsIn(call).toolUseId),
  resultsIn: (body) =>
    valuesOf(messagesIn(body), 'toolResult').map((result) => ({
      callId: fieldsIn(result).toolUseId,
      text: textsOf(result).join(''),
    })),
  signaturesIn: (body) => valuesOf(messagesIn(body), 'signature'),
}

/** Its calls have no ids and are told apart by their order. */
const vertex: WireFormat = { ...gemini, kind: 'vertex', path: '/v1' }

export const WIRE_FORMATS: readonly WireFormat[] = [openai, anthropic, gemini, vertex, bedrock]
