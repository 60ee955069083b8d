/** Checks requests in the Messages format. It refuses what the real one does, so that an adapter cannot get away with it here. */
import { checkBounds, checkOutput, checkThinking } from './claude.ts'
import type { ChatRequest } from './dialect.ts'
import { isRecord } from './record.ts'
import { Refusal } from './refusal.ts'
import type { Tool } from './reply.ts'
import { assertSigned, checkThoughtsKept } from './thinking.ts'
import type { ThoughtfulTurn } from './thinking.ts'

const FIELDS = new Set(
  'model max_tokens messages system stream temperature top_p top_k stop_sequences tools tool_choice metadata output_config thinking service_tier cache_control'.split(
    ' ',
  ),
)

type Fields = Record<string, unknown>

export function readRequest(body: unknown): ChatRequest {
  if (!isRecord(body)) throw new Refusal(400, 'the body must be a JSON object')
  for (const field of Object.keys(body)) require(FIELDS.has(field), `${field}: Extra inputs are not permitted`)
  const { model, max_tokens: tokensMax } = body
  if (typeof model !== 'string' || model === '') throw new Refusal(400, 'model: Field required')
  if (typeof tokensMax !== 'number') throw new Refusal(400, 'max_tokens: Field required')
  require(Number.isInteger(tokensMax) && tokensMax >= 1, 'max_tokens: must be greater than or equal to 1')
  checkSampling(body)
  checkMetadata(body.metadata)
  const tools = toolsOf(body.tools)
  checkToolChoice(body.tool_choice, tools)
  checkOutput(body.output_config, model)
  const system = body.system === undefined ? [] : [{ role: 'system', text: systemText(body.system) }]
  const messages = [...system, ...messagesOf(body.messages, body.thinking)]
  const wantsThoughts = checkThinking({
    model,
    tokensMax,
    thinking: body.thinking,
    temperature: body.temperature,
    topP: body.top_p,
    topK: body.top_k,
    isToolForced: isRecord(body.tool_choice) && ['any', 'tool'].includes(String(body.tool_choice.type)),
    isPrefilled: messages.at(-1)?.role === 'assistant',
  })
  return { model, stream: body.stream === true, wantsUsage: true, tokensMax, messages, tools, wantsThoughts }
}

function require(isTrue: boolean, message: string): void {
  if (!isTrue) throw new Refusal(400, message)
}

function checkSampling({ temperature, top_p: topP, stop_sequences: stops = [] }: Fields): void {
  for (const [name, value] of [
    ['temperature', temperature],
    ['top_p', topP],
  ] as const) {
    if (value === undefined) continue
    require(typeof value === 'number' && value >= 0 && value <= 1, `${name}: range: 0..1`)
  }
  const isOne = temperature === undefined || topP === undefined
  require(isOne, '`temperature` and `top_p` cannot both be specified for this model. Please use only one.')
  require(Array.isArray(stops), 'stop_sequences: Input should be a valid list')
  for (const stop of stops as unknown[]) {
    const isWord = typeof stop === 'string' && stop.trim() !== ''
    require(isWord, 'stop_sequences: each stop sequence must contain non-whitespace')
  }
}

function checkMetadata(metadata: unknown): void {
  if (metadata === undefined) return
  const { user_id: userId, ...rest }: Fields = isRecord(metadata) ? metadata : { wrong: true }
  require(Object.keys(rest).length === 0, 'metadata: Extra inputs are not permitted')
  const isShort = userId === undefined || (typeof userId === 'string' && userId.length <= 256)
  require(isShort, 'metadata.user_id: String should have at most 256 characters')
}

function toolsOf(tools: unknown): Tool[] {
  if (tools === undefined) return []
  if (!Array.isArray(tools)) throw new Refusal(400, 'tools: Input should be a valid list')
  return tools.map((tool: unknown, at): Tool => {
    const { name, input_schema: schema, strict }: Fields = isRecord(tool) ? tool : {}
    if (typeof name !== 'string' || !/^[A-Za-z0-9_-]{1,128}$/.test(name)) {
      throw new Refusal(400, `tools.${at}.name: String should match the pattern`)
    }
    require(isRecord(schema) && schema.type === 'object', `tools.${at}.input_schema.type: Field required`)
    if (strict === true) checkBounds(schema, `tools.${at}.custom`)
    return { name, parameters: schema }
  })
}

function checkToolChoice(choice: unknown, tools: readonly Tool[]): void {
  if (choice === undefined) return
  const { type, name }: Fields = isRecord(choice) ? choice : {}
  require(['auto', 'any', 'tool', 'none'].includes(String(type)), 'tool_choice: Input tag is unknown')
  require(tools.length > 0, 'tool_choice may only be specified while providing tools')
  const isFound = type !== 'tool' || tools.some((tool) => tool.name === name)
  require(isFound, `tool_choice: Tool '${String(name)}' not found in provided tools`)
}

function systemText(system: unknown): string {
  if (typeof system === 'string') return system
  return blocksOf(system, 'system').map(textBlock).join('')
}

function blocksOf(content: unknown, where: string): Fields[] {
  if (!Array.isArray(content)) throw new Refusal(400, `${where}: Input should be a valid string or list`)
  return content.map((block: unknown) => {
    if (!isRecord(block)) throw new Refusal(400, `${where}: Input should be an object`)
    return block
  })
}

function textBlock({ type, text }: Fields): string {
  if (type !== 'text' || typeof text !== 'string') throw new Refusal(400, 'text: Field required')
  require(text !== '', 'text content blocks must be non-empty')
  return text
}

interface Said {
  role: string
  text: string
}

function messagesOf(messages: unknown, thinking: unknown): Said[] {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new Refusal(400, 'messages: at least one message is required')
  }
  const said: Said[] = []
  const turns: ThoughtfulTurn[] = []
  // A result must answer a call of the turn before, and each call must be answered in the turn after.
  let open = new Set<string>()
  for (const [at, message] of messages.entries()) {
    const { role, content }: Fields = isRecord(message) ? message : {}
    if (role !== 'user' && role !== 'assistant') throw new Refusal(400, `messages.${at}.role: Unexpected role`)
    const isLast = at === messages.length - 1
    if (typeof content === 'string') {
      checkText(content, isLast && role === 'assistant')
      require(open.size === 0, unanswered(at, open))
      said.push({ role, text: content })
      turns.push({ role, kinds: ['text'] })
      continue
    }
    const blocks = blocksOf(content, `messages.${at}.content`)
    turns.push({ role, kinds: blocks.map(({ type }) => String(type)) })
    require(blocks.length > 0, `messages.${at}: all messages must have non-empty content`)
    if (role === 'user') {
      said.push(...readUser(blocks, at, open))
      open = new Set()
    } else {
      require(open.size === 0, unanswered(at, open))
      open = callsIn(blocks)
      for (const block of blocks) checkAnswerBlock(block)
      const text = textIn(blocks)
      if (blocks.at(-1)?.type === 'text') checkText(text, isLast)
      said.push({ role, text })
    }
  }
  require(open.size === 0, unanswered(messages.length, open))
  checkThoughtsKept(thinking, turns)
  return said
}

function checkText(text: string, isPrefill: boolean): void {
  require(text.trim() !== '', 'messages: text content blocks must contain non-whitespace text')
  const isTrimmed = !isPrefill || text === text.trimEnd()
  require(isTrimmed, 'messages: final assistant content cannot end with trailing whitespace')
}

function unanswered(at: number, open: ReadonlySet<string>): string {
  return `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${[...open].join(', ')}`
}

function readUser(blocks: readonly Fields[], at: number, open: Set<string>): Said[] {
  const results = blocks.filter((block) => block.type === 'tool_result')
  for (const [place, block] of results.entries()) {
    const id = String(block.tool_use_id)
    require(blocks[place] === block, `messages.${at}: \`tool_result\` blocks must stand first`)
    require(open.delete(id), `messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}`)
  }
  require(open.size === 0, unanswered(at, open))
  const rest = blocks.slice(results.length)
  const texts = rest.filter((block) => block.type === 'text')
  if (texts.length > 0) checkText(textIn(texts), false)
  for (const block of rest) if (block.type !== 'text') checkMedia(block)
  return [
    ...results.map(({ content }) => ({ role: 'tool', text: resultText(content) })),
    ...(rest.length > 0 ? [{ role: 'user', text: textIn(texts) }] : []),
  ]
}

function resultText(content: unknown): string {
  if (content === undefined || typeof content === 'string') return content ?? ''
  return textIn(blocksOf(content, 'tool_result.content'))
}

function callsIn(blocks: readonly Fields[]): Set<string> {
  const ids = blocks.flatMap(({ type, id, name, input }) => {
    if (type !== 'tool_use') return []
    const isCall = typeof id === 'string' && /^[A-Za-z0-9_-]+$/.test(id) && typeof name === 'string' && isRecord(input)
    require(isCall, 'tool_use: id should match the pattern, and input should be a valid dictionary')
    return [String(id)]
  })
  require(new Set(ids).size === ids.length, 'messages: `tool_use` ids must be unique')
  return new Set(ids)
}

function checkAnswerBlock({ type, thinking, signature, data }: Fields): void {
  if (type === 'thinking') {
    require(typeof thinking === 'string', 'messages: thinking.thinking: Field required')
    assertSigned(signature)
  } else if (type === 'redacted_thinking') require(typeof data === 'string', 'messages: data: Field required')
  else require(type === 'text' || type === 'tool_use', `messages: Input tag '${String(type)}' is not expected here`)
}

/** Images and documents. */
function checkMedia({ type, source, title }: Fields): void {
  const { type: kind, media_type: mediaType, data, url }: Fields = isRecord(source) ? source : {}
  const isImage = kind === 'base64' && /^image\/(jpeg|png|gif|webp)$/.test(String(mediaType))
  const isDocument =
    (kind === 'base64' && mediaType === 'application/pdf') || (kind === 'text' && mediaType === 'text/plain')
  const isData = typeof data === 'string' && (type === 'image' ? isImage : type === 'document' && isDocument)
  const isAddress = type === 'image' && kind === 'url' && /^https?:\/\//.test(String(url))
  require(isData || isAddress, 'messages: Input tag found does not match any of the expected tags')
  const isTitled = title === undefined || (type === 'document' && typeof title === 'string' && title !== '')
  require(isTitled, 'messages: document.title: String should have at least 1 character')
}

function textIn(blocks: readonly Fields[]): string {
  return blocks.map((block) => (block.type === 'text' ? textBlock(block) : '')).join('')
}
