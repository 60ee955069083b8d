/** Refuses what the models behind Converse refuse, each maker's in its own way. */
import { checkBounds, checkOutput, checkThinking } from './claude.ts'
import type { ChatRequest } from './dialect.ts'
import { isRecord } from './record.ts'
import { Refusal } from './refusal.ts'
import { isThinkingAsked } from './thinking.ts'

type Fields = Record<string, unknown>
type Read = Pick<ChatRequest, 'model' | 'tokensMax' | 'messages'>

/** Whether the model is to think. */
export function checkModelFields(body: Fields, read: Read): boolean {
  const more = fieldsOf(body.additionalModelRequestFields)
  if (read.model.includes('anthropic.')) return checkClaude(body, more, read)
  if (read.model.includes('amazon.nova')) return checkNova(body, more)
  if (read.model.includes('openai.')) checkGptOss(body, more)
  return isThinkingAsked(more.thinking)
}

function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {}
}

function checkClaude(body: Fields, more: Fields, { model, tokensMax, messages }: Read): boolean {
  const { temperature, topP, topK, stopSequences: stops = [] } = fieldsOf(body.inferenceConfig)
  const { tools = [], toolChoice } = fieldsOf(body.toolConfig)
  require(temperature === undefined || topP === undefined, '`temperature` and `top_p` cannot both be specified.')
  require(Array.isArray(stops) && !stops.some(isBlank), 'stop_sequences: each must contain non-whitespace')
  checkOutput(more.output_config, model)
  for (const tool of Array.isArray(tools) ? tools : []) {
    const { strict, inputSchema } = fieldsOf(fieldsOf(tool).toolSpec)
    if (strict === true) checkBounds(fieldsOf(inputSchema).json, 'toolConfig')
  }
  return checkThinking({
    model,
    thinking: more.thinking,
    tokensMax,
    temperature,
    topP,
    topK: topK ?? more.top_k,
    isToolForced: ['any', 'tool'].some((choice) => choice in fieldsOf(toolChoice)),
    isPrefilled: messages.at(-1)?.role === 'assistant',
  })
}

function isBlank(stop: unknown): boolean {
  return typeof stop !== 'string' || stop.trim() === ''
}

function checkNova(body: Fields, more: Fields): boolean {
  if (more.reasoningConfig === undefined) return false
  const { type, maxReasoningEffort: effort } = fieldsOf(more.reasoningConfig)
  require(type === 'enabled' || type === 'disabled', 'reasoningConfig.type is not valid')
  if (type === 'disabled') return false
  require(['low', 'medium', 'high'].includes(String(effort)), 'reasoningConfig.maxReasoningEffort is not valid')
  const isBounded = fieldsOf(body.inferenceConfig).maxTokens !== undefined
  require(effort !== 'high' || !isBounded, 'maxTokens must be unset when maxReasoningEffort is high')
  return true
}

function checkGptOss(body: Fields, { reasoning_effort: effort = 'medium' }: Fields): void {
  require(['low', 'medium', 'high'].includes(String(effort)), 'reasoning_effort must be low, medium or high')
  require(fieldsOf(body.inferenceConfig).stopSequences === undefined, 'stopSequences is not supported by this model')
}

function require(isTrue: boolean, message: string): void {
  if (!isTrue) throw new Refusal(400, message)
}
