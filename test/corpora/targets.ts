import { openAICompatibleSettings, type OpenAICompatibleSettings } from '../../src/providers/openai/openai-settings.ts'
import { PRESETS, type Preset } from '../../src/providers/presets.ts'

/** Where the requests go: a model of each kind that an adapter tells apart, at each preset. */

export type BodyType = 'openai' | 'anthropic' | 'gemini' | 'converse'

export interface Target {
  /** The preset and the model. */
  name: string
  preset: string
  kind: Preset['kind']
  model: string
  type: BodyType
  /** Only of OpenAI's format: the others go by the model. */
  settings: OpenAICompatibleSettings | undefined
}

const MODELS: Record<Preset['kind'], readonly string[]> = {
  // This format goes by the provider's settings alone.
  'openai-compatible': ['a-model'],
  anthropic: ['claude-3-5-haiku-20241022', 'claude-sonnet-4-5-20250929', 'claude-opus-4-6', 'claude-opus-4-7'],
  gemini: ['gemini-2.0-flash', 'gemini-2.5-flash', 'gemini-2.5-pro', 'gemini-3-pro-preview', 'gemini-3-flash-preview'],
  vertex: ['gemini-2.5-flash', 'gemini-3-pro-preview'],
  bedrock: [
    'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    'us.anthropic.claude-opus-4-6-v1',
    'us.amazon.nova-2-lite-v1:0',
    'us.meta.llama3-3-70b-instruct-v1:0',
    'openai.gpt-oss-120b-1:0',
  ],
}

const TYPES: Record<Preset['kind'], BodyType> = {
  'openai-compatible': 'openai',
  anthropic: 'anthropic',
  gemini: 'gemini',
  vertex: 'gemini',
  bedrock: 'converse',
}

export const TARGETS: readonly Target[] = PRESETS.flatMap(({ name: preset, kind, settings }) =>
  MODELS[kind].map((model) => ({
    name: `${preset} ${model}`,
    preset,
    kind,
    model,
    type: TYPES[kind],
    settings: kind === 'openai-compatible' ? openAICompatibleSettings.parse(settings) : undefined,
  })),
)
