/** Refuses what a Claude model refuses, wherever it is served. The version in the model's name decides. */
import { isRecord } from './record.ts'
import { Refusal } from './refusal.ts'

type Fields = Record<string, unknown>

/** The thought of a model that is asked to think when no script says what. */
export const A_THOUGHT = 'Let me think about that.'

/** `claude-opus-4-6` is 4.06. Undefined: the name tells none, as that of the simulator's own models. */
function versionOf(model: string): number | undefined {
  const [, major, minor = '0'] = /claude-(?:[a-z]+-)?(\d{1,2})(?:-(\d{1,2}))?(?!\d)/.exec(model) ?? []
  return major === undefined ? undefined : Number(major) + Number(minor) / 100
}

function isBefore(model: string, version: number): boolean {
  return (versionOf(model) ?? Infinity) < version
}

function isSince(model: string, version: number): boolean {
  return (versionOf(model) ?? 0) >= version
}

const ALWAYS_THINKING = /claude-(?:fable-5|(?:sonnet|opus)-5-5)/
const NEVER_FORCED = /claude-(?:fable-5-1|(?:sonnet|opus)-5-5)/

export interface Asked {
  readonly model: string
  readonly thinking: unknown
  readonly tokensMax: number | undefined
  readonly temperature: unknown
  readonly topP: unknown
  readonly topK: unknown
  readonly isToolForced: boolean
  /** The conversation ends with words of the assistant, to be continued. */
  readonly isPrefilled: boolean
}

/** Whether the model is to think. */
export function checkThinking(asked: Asked): boolean {
  const { model, temperature, topP, topK, isPrefilled } = asked
  require(!isPrefilled || !isSince(model, 4.06), 'This model does not support assistant message prefill.')
  for (const [name, value] of Object.entries({ temperature, top_p: topP, top_k: topK }))
    require(value === undefined || !isSince(model, 4.07), `\`${name}\` is deprecated for this model.`)
  require(!asked.isToolForced || !NEVER_FORCED.test(model), 'tool_choice: this model cannot be made to call a tool')
  if (!isThinking(asked)) return false
  require((temperature ?? 1) === 1, '`temperature` may only be set to 1 when thinking is enabled.')
  require(Number(topP ?? 1) >= 0.95, '`top_p` must be greater than or equal to 0.95 when thinking is enabled.')
  require(topK === undefined, '`top_k` must be unset when thinking is enabled.')
  require(!asked.isToolForced, 'Thinking may not be enabled when tool_choice forces tool use.')
  require(!isPrefilled, 'The final message must not be of the assistant when thinking is enabled.')
  return true
}

const BUDGET_MIN = 1_024

function isThinking({ model, thinking, tokensMax }: Asked): boolean {
  if (thinking === undefined) return false
  const { type, budget_tokens: budget, display = 'summarized' }: Fields = isRecord(thinking) ? thinking : {}
  switch (type) {
    case 'disabled':
      require(!ALWAYS_THINKING.test(model), '"thinking.type.disabled" is not supported for this model.')
      return false
    case 'adaptive':
      require(!isBefore(model, 4.06), 'adaptive thinking is not supported on this model')
      require(budget === undefined, 'thinking.adaptive.budget_tokens: Extra inputs are not permitted')
      require(display === 'summarized' || display === 'omitted', 'thinking.adaptive.display: Input tag is unknown')
      return true
    case 'enabled':
      require(!isBefore(model, 3.07), 'This model does not support thinking.')
      require(!isSince(model, 4.07), '"thinking.type.enabled" is not supported for this model.')
      require(Number.isInteger(budget) &&
        Number(budget) >= BUDGET_MIN, 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024')
      require(Number(budget) < (tokensMax ?? Infinity), '`max_tokens` must be greater than `thinking.budget_tokens`.')
      return true
    default:
      throw new Refusal(400, `thinking: Input tag '${String(type)}' found using 'type' does not match any of the tags`)
  }
}

/** How hard to think, and the form of the answer. Each may come without the other. */
export function checkOutput(config: unknown, model: string): void {
  if (config === undefined) return
  const { effort, format, ...rest }: Fields = isRecord(config) ? config : { wrong: true }
  require(Object.keys(rest).length === 0, 'output_config: Extra inputs are not permitted')
  if (effort !== undefined) {
    require(!isBefore(model, 4.05), 'This model does not support the effort parameter.')
    const isKnown = effort === 'low' || effort === 'medium' || effort === 'high'
    const isNewer = (effort === 'max' && !isBefore(model, 4.06)) || (effort === 'xhigh' && !isBefore(model, 4.07))
    require(isKnown || isNewer, 'output_config.effort: Input should be one that this model knows')
  }
  if (format === undefined) return
  require(!isBefore(model, 4.01), 'output_config.format: structured outputs are not supported by this model')
  const schema = isRecord(format) && format.type === 'json_schema' ? format.schema : undefined
  require(isRecord(schema), 'output_config.format.schema: Field required')
  checkBounds(schema, 'output_config.format.schema')
  checkClosed(schema, 'output_config.format.schema')
}

const BOUNDS = /^(?:minimum|maximum|exclusive\w+|multipleOf|minLength|maxLength|maxItems|uniqueItems)$/

/** In a schema that is held to. Names of properties are no keywords, and neither are values. */
export function checkBounds(schema: unknown, where: string): void {
  for (const part of schemasIn(schema)) {
    const bound = Object.entries(part).find(
      ([keyword, value]) => BOUNDS.test(keyword) || (keyword === 'minItems' && Number(value) > 1),
    )
    require(bound === undefined, `${where}: property '${bound?.[0]}' is not supported`)
  }
}

function checkClosed(schema: unknown, where: string): void {
  require(!schemasIn(schema).some(isOpen), `${where}: 'additionalProperties' must be explicitly set to false`)
}

function isOpen({ type, additionalProperties }: Fields): boolean {
  return type === 'object' && additionalProperties !== false
}

const NO_SCHEMAS = new Set(['enum', 'const', 'default', 'examples', 'required'])

function schemasIn(schema: unknown): Fields[] {
  if (Array.isArray(schema)) return schema.flatMap(schemasIn)
  if (!isRecord(schema)) return []
  const inner = Object.entries(schema).flatMap(([keyword, value]) => {
    if (NO_SCHEMAS.has(keyword)) return []
    const isByName = /^(?:properties|\$defs|definitions)$/.test(keyword) && isRecord(value)
    return schemasIn(isByName ? Object.values(value) : value)
  })
  return [schema, ...inner]
}

function require(isTrue: boolean, message: string): void {
  if (!isTrue) throw new Refusal(400, message)
}
