import type { ProviderKind } from './create-provider.ts'
import type { OpenAICompatibleSettings } from './openai/openai-settings.ts'

/**
 * Where well-known providers are and what they do differently. Data and nothing else: a provider that speaks one of our
 * wire formats is one more entry here, or the same said on the command line.
 */
export type Preset = {
  name: string
  /** Undefined: it is another for each customer. */
  baseUrl: string | undefined
  key: 'needed' | 'optional' | 'none'
  hint: string
} & (
  | { kind: 'openai-compatible'; settings: Partial<OpenAICompatibleSettings> }
  | { kind: Exclude<ProviderKind, 'openai-compatible'>; settings: Record<string, unknown> }
)

export const PRESETS: readonly Preset[] = [
  {
    name: 'openai',
    kind: 'openai-compatible',
    baseUrl: 'https://api.openai.com/v1',
    // Its newer models refuse max_tokens, and its older ones understand both. A prediction refuses either, and without one
    // nobody could bound what an answer costs. Sound is priced apart: a model that hears is one of its own.
    settings: {
      unsupportedFields: ['prediction'],
      maxTokensField: 'max_completion_tokens',
      readsFiles: true,
      developerRole: true,
      endUserField: 'safety_identifier',
      promptCacheKey: true,
      refusals: true,
      embeddingFormat: 'base64',
    },
    key: 'needed',
    hint: 'A project key that may write to chat completions, and to embeddings if you offer them, is enough.',
  },
  {
    name: 'azure',
    kind: 'openai-compatible',
    baseUrl: undefined,
    settings: {
      auth: { header: 'api-key' },
      unsupportedFields: ['prediction'],
      maxTokensField: 'max_completion_tokens',
      developerRole: true,
      promptCacheKey: true,
      refusals: true,
      embeddingFormat: 'base64',
    },
    key: 'needed',
    hint: 'The base URL is the endpoint of your resource followed by /openai/v1, the upstream model the name of a deployment.',
  },
  {
    name: 'groq',
    kind: 'openai-compatible',
    baseUrl: 'https://api.groq.com/openai/v1',
    settings: {
      maxTokensField: 'max_completion_tokens',
      unsupportedFields: [
        'logit_bias',
        'presence_penalty',
        'frequency_penalty',
        'logprobs',
        'top_logprobs',
        'verbosity',
        'prediction',
      ],
    },
    key: 'needed',
    hint: 'Its limits are by organisation: more keys of the same one do not raise them.',
  },
  {
    name: 'mistral',
    kind: 'openai-compatible',
    baseUrl: 'https://api.mistral.ai/v1',
    // It refuses every field that it does not know, ids of other lengths and an answer at the end, and reports usage unasked.
    settings: {
      askForUsage: false,
      endUserField: 'none',
      toolCallIds: 'nine',
      unsupportedFields: [
        'seed',
        'logit_bias',
        'logprobs',
        'top_logprobs',
        'reasoning_effort',
        'verbosity',
        'prefill',
        'dimensions',
        'token_ids',
      ],
    },
    key: 'needed',
    hint: 'A key belongs to one workspace.',
  },
  {
    name: 'deepseek',
    kind: 'openai-compatible',
    baseUrl: 'https://api.deepseek.com/v1',
    settings: {
      endUserField: 'none',
      reasoningField: 'reasoning_content',
      unsupportedFields: [
        'seed',
        'logit_bias',
        'images',
        'json_schema',
        'parallel_tool_calls',
        'reasoning_effort',
        'verbosity',
        'prediction',
      ],
    },
    key: 'needed',
    hint: 'It is prepaid: a refusal with 402 means that its credit is used up.',
  },
  {
    name: 'together',
    kind: 'openai-compatible',
    baseUrl: 'https://api.together.xyz/v1',
    // It answers 403 to a prompt that is too long for the model.
    settings: { keyRejectedBy: [401, 402], unsupportedFields: ['verbosity', 'prediction'] },
    key: 'needed',
    hint: 'Upstream models are named like meta-llama/Llama-3.3-70B-Instruct-Turbo.',
  },
  {
    name: 'openrouter',
    kind: 'openai-compatible',
    baseUrl: 'https://openrouter.ai/api/v1',
    // It answers 403 when its moderation flags a prompt: that must not take a good key out of use.
    settings: {
      headers: { 'x-title': 'Parley' },
      keyRejectedBy: [401, 402],
      readsFiles: true,
      developerRole: true,
      cacheControl: true,
      reasoningField: 'reasoning',
      refusals: true,
    },
    key: 'needed',
    hint: 'Set the header http-referer to your own site if you want its statistics to name you.',
  },
  {
    name: 'fireworks',
    kind: 'openai-compatible',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    settings: { unsupportedFields: ['verbosity'] },
    key: 'needed',
    hint: 'Upstream models are named like accounts/fireworks/models/llama-v3p3-70b-instruct.',
  },
  {
    name: 'xai',
    kind: 'openai-compatible',
    baseUrl: 'https://api.x.ai/v1',
    // It answers 403 to a prompt that violates its guidelines: that must not take a good key out of use.
    settings: {
      maxTokensField: 'max_completion_tokens',
      unsupportedFields: ['logit_bias', 'presence_penalty', 'frequency_penalty', 'verbosity', 'prediction'],
      keyRejectedBy: [401, 402],
    },
    key: 'needed',
    hint: 'Its reasoning models also refuse stop: say so on their routes with --unsupported.',
  },
  {
    name: 'vllm',
    kind: 'openai-compatible',
    baseUrl: 'http://127.0.0.1:8000/v1',
    settings: {
      reasoningField: 'reasoning_content',
      embeddingFormat: 'base64',
      unsupportedFields: ['image_urls', 'verbosity', 'prediction'],
    },
    key: 'optional',
    hint: 'It asks for a key only when it was started with --api-key.',
  },
  {
    name: 'ollama',
    kind: 'openai-compatible',
    baseUrl: 'http://127.0.0.1:11434/v1',
    settings: {
      unsupportedFields: ['logit_bias', 'tool_choice', 'parallel_tool_calls', 'image_urls', 'verbosity', 'prediction'],
    },
    key: 'none',
    hint: 'Pull a model first. Its context window is small unless you set it there.',
  },
  {
    name: 'llama-cpp',
    kind: 'openai-compatible',
    baseUrl: 'http://127.0.0.1:8080/v1',
    settings: { unsupportedFields: ['image_urls', 'reasoning_effort', 'verbosity', 'prediction'] },
    key: 'optional',
    hint: 'For llama-server. Its usual port is also the usual one of Parley: change either.',
  },
  {
    name: 'anthropic',
    kind: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    settings: {},
    key: 'needed',
    hint: 'A key belongs to one workspace, whose limits it shares.',
  },
  {
    name: 'gemini',
    kind: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    settings: {},
    key: 'needed',
    hint: 'A key of AI Studio. Google Cloud is the preset vertex.',
  },
  {
    name: 'vertex',
    kind: 'vertex',
    baseUrl: 'https://aiplatform.googleapis.com/v1',
    settings: {},
    key: 'needed',
    hint: 'The key is the JSON file of a service account, or an API key of express mode.',
  },
  {
    name: 'bedrock',
    kind: 'bedrock',
    baseUrl: undefined,
    settings: {},
    key: 'needed',
    hint: 'The base URL is that of bedrock-runtime in your region. The key is a Bedrock API key or ACCESS_KEY_ID:SECRET_ACCESS_KEY.',
  },
]

export function presetNamed(name: string): Preset | undefined {
  return PRESETS.find((preset) => preset.name === name)
}
