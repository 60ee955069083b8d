import { REASONING_EFFORTS, type ReasoningEffort } from '../../src/rules/calls/chat-request.ts'
import type { FormatName } from './formats.ts'
import { refused, sees, type AnswerPart, type Case } from './row.ts'

/** The value sent to a family of models at each effort: a word, a number of tokens, or `off`. Undefined: 422. */
export interface Family {
  name: string
  /** The models that it is tried on. */
  models: Partial<Record<FormatName, string>>
  told: Record<ReasoningEffort, string | number | undefined>
  /** Where that is said, in the provider's words. */
  at(told: string | number, effort: ReasoningEffort): Record<string, unknown>
  /** The parts of the thoughts that the caller sees. */
  answered?: readonly AnswerPart[]
}

const toldTo = (...told: (string | number | undefined)[]) =>
  Object.fromEntries(REASONING_EFFORTS.map((effort, n) => [effort, told[n]])) as Family['told']

const BUDGETS = toldTo('off', 1_024, 1_024, 8_192, 24_576, 32_768, 32_768)
const SIGNED = ['reasoning_content', 'reasoning_signature'] as const
const SHOWN = ['reasoning_content'] as const

/** The places of Claude's fields in the request of either format. */
function budgetAt(prefix: string) {
  return (told: string | number) => ({
    [`${prefix}thinking`]: told === 'off' ? undefined : { type: 'enabled', budget_tokens: told },
    [`${prefix}output_config`]: undefined,
  })
}

function effortAt(prefix: string) {
  return (told: string | number) => ({
    [`${prefix}thinking`]: told === 'off' ? { type: 'disabled' } : { type: 'adaptive', display: 'summarized' },
    [`${prefix}output_config.effort`]: told === 'off' ? undefined : told,
  })
}

const THINKING = 'generationConfig.thinkingConfig'
const budgetOfGemini: Family['at'] = (told) => ({
  [THINKING]: told === 'off' ? { thinkingBudget: 0 } : { thinkingBudget: told, includeThoughts: true },
})
const levelOfGemini: Family['at'] = (told, effort) => ({
  [THINKING]: effort === 'none' ? { thinkingLevel: told } : { thinkingLevel: told, includeThoughts: true },
})
const atGoogle = (model: string) => ({ gemini: model, vertex: model })
const MORE = 'additionalModelRequestFields.'

export const FAMILIES: readonly Family[] = [
  {
    name: 'OpenAI format',
    models: { openai: 'gpt-5' },
    told: toldTo(...REASONING_EFFORTS),
    at: (told) => ({ reasoning_effort: told }),
  },
  {
    name: 'Claude 3.7 to 4.5',
    models: { anthropic: 'claude-opus-4-5' },
    told: BUDGETS,
    at: budgetAt(''),
    answered: SIGNED,
  },
  {
    name: 'Claude 4.6',
    models: { anthropic: 'claude-opus-4-6' },
    told: toldTo('off', 'low', 'low', 'medium', 'high', 'high', 'max'),
    at: effortAt(''),
    answered: SIGNED,
  },
  {
    name: 'Claude 4.7 and newer',
    models: { anthropic: 'claude-opus-4-7' },
    told: toldTo('off', 'low', 'low', 'medium', 'high', 'xhigh', 'max'),
    at: effortAt(''),
    answered: SIGNED,
  },
  {
    name: 'Claude 5.5 Opus and Sonnet, Fable',
    models: { anthropic: 'claude-sonnet-5-5' },
    told: toldTo(undefined, 'low', 'low', 'medium', 'high', 'xhigh', 'max'),
    at: effortAt(''),
    answered: SIGNED,
  },
  {
    name: 'older Claude',
    models: { anthropic: 'claude-3-5-haiku-20241022', bedrock: 'anthropic.claude-3-5-haiku-20241022-v1:0' },
    told: toldTo('off'),
    at: () => ({ thinking: undefined, [`${MORE}thinking`]: undefined }),
  },
  {
    name: 'Gemini 2.5 Flash',
    models: atGoogle('gemini-2.5-flash'),
    told: toldTo('off', 1_024, 1_024, 8_192, 24_576, 24_576, 24_576),
    at: budgetOfGemini,
    answered: SHOWN,
  },
  {
    name: 'Gemini 2.5 Pro',
    models: atGoogle('gemini-2.5-pro'),
    told: toldTo(undefined, 1_024, 1_024, 8_192, 24_576, 32_768, 32_768),
    at: budgetOfGemini,
    answered: SHOWN,
  },
  {
    name: 'Gemini 3 Flash',
    models: atGoogle('gemini-3-flash-preview'),
    told: toldTo('MINIMAL', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'HIGH', 'HIGH'),
    at: levelOfGemini,
    answered: SHOWN,
  },
  {
    name: 'Gemini 3 Pro',
    models: atGoogle('gemini-3-pro-preview'),
    told: toldTo(undefined, 'LOW', 'LOW', 'HIGH', 'HIGH', 'HIGH', 'HIGH'),
    at: levelOfGemini,
    answered: SHOWN,
  },
  {
    name: 'Gemini 3.1 Pro',
    models: atGoogle('gemini-3.1-pro-preview'),
    told: toldTo(undefined, 'LOW', 'LOW', 'MEDIUM', 'HIGH', 'HIGH', 'HIGH'),
    at: levelOfGemini,
    answered: SHOWN,
  },
  {
    name: 'older Gemini',
    models: atGoogle('gemini-2.0-flash'),
    told: toldTo('off'),
    at: () => ({ [THINKING]: undefined }),
  },
  {
    name: 'Claude 3.7 to 4.5 at Bedrock',
    models: { bedrock: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0' },
    told: BUDGETS,
    at: budgetAt(MORE),
    answered: SIGNED,
  },
  {
    name: 'Claude 4.6 at Bedrock',
    models: { bedrock: 'us.anthropic.claude-opus-4-6-v1' },
    told: toldTo('off', 'low', 'low', 'medium', 'high', 'high', 'max'),
    at: effortAt(MORE),
    answered: SIGNED,
  },
  {
    name: 'Claude 4.7 and newer at Bedrock',
    models: { bedrock: 'us.anthropic.claude-opus-4-7' },
    told: toldTo('off', 'low', 'low', 'medium', 'high', 'xhigh', 'max'),
    at: effortAt(MORE),
    answered: SIGNED,
  },
  {
    name: 'Claude 5.5 Opus and Sonnet, Fable at Bedrock',
    models: { bedrock: 'us.anthropic.claude-sonnet-5-5-v1' },
    told: toldTo(undefined, 'low', 'low', 'medium', 'high', 'xhigh', 'max'),
    at: effortAt(MORE),
    answered: SIGNED,
  },
  {
    name: 'Amazon Nova 2 Lite',
    models: { bedrock: 'us.amazon.nova-2-lite-v1:0' },
    told: toldTo('off', 'low', 'low', 'medium'),
    at: (told) => ({
      [`${MORE}reasoningConfig`]: told === 'off' ? undefined : { type: 'enabled', maxReasoningEffort: told },
    }),
  },
  {
    name: "OpenAI's open models at Bedrock",
    models: { bedrock: 'openai.gpt-oss-120b-1:0' },
    told: toldTo(undefined, 'low', 'low', 'medium', 'high', 'high', 'high'),
    at: (told) => ({ [`${MORE}reasoning_effort`]: told }),
  },
  {
    name: 'others at Bedrock',
    models: { bedrock: 'meta.llama3-70b-instruct-v1:0' },
    told: toldTo('off'),
    at: () => ({ additionalModelRequestFields: undefined }),
  },
]

/** Larger than any budget. */
export const LONG = 40_000

export const EFFORT_CASES: readonly Case[] = FAMILIES.flatMap((family) =>
  REASONING_EFFORTS.map((effort): Case => {
    const told = family.told[effort]
    const answered = effort === 'none' ? [] : (family.answered ?? [])
    const expected = told === undefined ? refused('reasoning_effort') : sees(family.at(told, effort), { answered })
    return {
      name: `${effort} for ${family.name}`,
      request: { reasoning_effort: effort, max_tokens: LONG },
      models: family.models,
      ...Object.fromEntries(Object.keys(family.models).map((format) => [format, expected])),
    }
  }),
)
