import { presetNamed } from '../../src/providers/presets.ts'

/** Where the requests go: a model of each kind that an adapter tells apart, at each preset. */

export type BodyType = 'openai' | 'anthropic' | 'gemini' | 'converse'

export interface Target {
  /** The preset and the model. */
  name: string
  preset: string
  model: string
  type: BodyType
}

const MODELS: Record<string, readonly string[]> = {
  openai: ['gpt-5.1'],
  azure: ['a-deployment'],
  groq: ['openai/gpt-oss-120b'],
  mistral: ['mistral-medium-latest'],
  deepseek: ['deepseek-reasoner'],
  together: ['meta-llama/Llama-3.3-70B-Instruct-Turbo'],
  openrouter: ['anthropic/claude-sonnet-4.5'],
  fireworks: ['accounts/fireworks/models/llama-v3p3-70b-instruct'],
  xai: ['grok-4'],
  vllm: ['Qwen/Qwen3-32B'],
  ollama: ['llama3.3'],
  'llama-cpp': ['default'],
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

const TYPES: Record<string, BodyType> = {
  'openai-compatible': 'openai',
  anthropic: 'anthropic',
  gemini: 'gemini',
  vertex: 'gemini',
  bedrock: 'converse',
}

export const TARGETS: readonly Target[] = Object.entries(MODELS).flatMap(([preset, models]) =>
  models.map((model) => ({ name: `${preset} ${model}`, preset, model, type: TYPES[presetNamed(preset)!.kind]! })),
)
