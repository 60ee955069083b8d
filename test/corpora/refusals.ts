/**
 * Which requests are not sent, where, and which field is why: by preset, or by preset and model. Whatever is not listed here
 * is sent.
 */

type Where = readonly string[]

const BY_MESSAGES = ['anthropic', 'gemini', 'vertex', 'bedrock']
const CLAUDE_AT_BEDROCK = [
  'bedrock us.anthropic.claude-sonnet-4-5-20250929-v1:0',
  'bedrock us.anthropic.claude-opus-4-6-v1',
]
const THINKING_CLAUDE = [
  'anthropic claude-sonnet-4-5-20250929',
  'anthropic claude-opus-4-6',
  'anthropic claude-opus-4-7',
  ...CLAUDE_AT_BEDROCK,
]
const GEMINI_3 = ['gemini gemini-3-pro-preview', 'gemini gemini-3-flash-preview', 'vertex gemini-3-pro-preview']
const GEMINI_BEFORE_3 = [
  'gemini gemini-2.0-flash',
  'gemini gemini-2.5-flash',
  'gemini gemini-2.5-pro',
  'vertex gemini-2.5-flash',
]
const WITHOUT_PREFILL = [
  'mistral',
  'anthropic claude-opus-4-6',
  'anthropic claude-opus-4-7',
  ...GEMINI_3,
  'bedrock us.anthropic.claude-opus-4-6-v1',
]
const WITHOUT_PENALTIES = [
  'groq',
  'xai',
  'anthropic',
  'gemini gemini-2.5-flash',
  'gemini gemini-2.5-pro',
  'gemini gemini-3-pro-preview',
  'gemini gemini-3-flash-preview',
  'vertex',
  'bedrock',
]
const WITHOUT_FILES = [
  'azure',
  'groq',
  'mistral',
  'deepseek',
  'together',
  'fireworks',
  'xai',
  'vllm',
  'ollama',
  'llama-cpp',
]
/** Older ones are held to a schema only by a tool. */
const WITHOUT_SCHEMAS = ['anthropic claude-3-5-haiku-20241022']
const WITHOUT_EFFORT = [
  'mistral',
  'deepseek',
  'llama-cpp',
  'anthropic claude-3-5-haiku-20241022',
  'gemini gemini-2.0-flash',
  'bedrock us.meta.llama3-3-70b-instruct-v1:0',
]
/** It has no bound of what it costs from there on. */
const WITHOUT_HIGH_EFFORT = [...WITHOUT_EFFORT, 'bedrock us.amazon.nova-2-lite-v1:0']
const WITHOUT_VERBOSITY = ['groq', 'mistral', 'deepseek', 'together', 'fireworks', 'xai', 'vllm', 'ollama', 'llama-cpp']

export const REFUSALS: Readonly<Record<string, Readonly<Record<string, Where>>>> = {
  'a system text after an answer': { prefill: WITHOUT_PREFILL },
  'whitespace at the end': { prefill: WITHOUT_PREFILL },
  'nothing at the end': { prefill: WITHOUT_PREFILL },
  'whitespace only': { empty: ['anthropic', 'bedrock'] },
  'nothing at all': { empty: BY_MESSAGES },
  prefill: { prefill: WITHOUT_PREFILL },
  'prefill with its thoughts': { prefill: WITHOUT_PREFILL },

  'temperature 0': { temperature: ['anthropic claude-opus-4-7'] },
  'temperature 1.5': { temperature: ['anthropic', 'bedrock'] },
  top_p: { top_p: ['anthropic claude-opus-4-7'] },
  'temperature and top_p': {
    temperature: ['anthropic claude-opus-4-7'],
    top_p: [
      'anthropic claude-3-5-haiku-20241022',
      'anthropic claude-sonnet-4-5-20250929',
      'anthropic claude-opus-4-6',
      ...CLAUDE_AT_BEDROCK,
    ],
  },
  'a stop': { stop: ['bedrock openai.gpt-oss-120b-1:0'] },
  'stops with empty ones': { stop: ['bedrock openai.gpt-oss-120b-1:0'] },
  'a stop of whitespace': { stop: ['anthropic', ...CLAUDE_AT_BEDROCK, 'bedrock openai.gpt-oss-120b-1:0'] },
  'a seed': { seed: ['mistral', 'deepseek', 'anthropic', 'bedrock'] },
  'a large seed': { seed: ['mistral', 'deepseek', ...BY_MESSAGES] },
  presence_penalty: { presence_penalty: WITHOUT_PENALTIES },
  frequency_penalty: { frequency_penalty: WITHOUT_PENALTIES },
  logit_bias: { logit_bias: ['groq', 'mistral', 'deepseek', 'xai', 'ollama', ...BY_MESSAGES] },
  logprobs: { logprobs: ['groq', 'mistral', ...BY_MESSAGES] },
  verbosity: { verbosity: [...WITHOUT_VERBOSITY, ...BY_MESSAGES] },
  prediction: {
    prediction: [
      'openai',
      'azure',
      'groq',
      'deepseek',
      'together',
      'xai',
      'vllm',
      'ollama',
      'llama-cpp',
      ...BY_MESSAGES,
    ],
  },

  'any JSON': { response_format: ['anthropic', 'bedrock'] },
  'any JSON beside tools': { response_format: ['anthropic', ...GEMINI_BEFORE_3, 'bedrock'] },
  'a JSON schema': { json_schema: ['deepseek'], response_format: WITHOUT_SCHEMAS },
  'a JSON schema with nulls beside it': { json_schema: ['deepseek'], response_format: WITHOUT_SCHEMAS },
  'an open JSON schema': { json_schema: ['deepseek'], response_format: ['anthropic'] },
  'a JSON schema beside tools': {
    json_schema: ['deepseek'],
    response_format: [...WITHOUT_SCHEMAS, ...GEMINI_BEFORE_3, 'bedrock'],
  },

  'an image': { images: ['deepseek'] },
  'an image with detail': { images: ['deepseek'] },
  'an image/jpg': { images: ['deepseek'] },
  'an image by address': { images: ['deepseek', 'bedrock'], image_urls: ['vllm', 'ollama', 'llama-cpp'] },
  'a bitmap': { images: ['deepseek', 'anthropic', 'bedrock'] },
  'a PDF': { files: WITHOUT_FILES },
  'a PDF without a name': { files: WITHOUT_FILES },
  'a PDF with an empty name': { files: WITHOUT_FILES },
  'a PDF and nothing else': { files: [...WITHOUT_FILES, 'bedrock'] },
  'a text file': { files: [...WITHOUT_FILES, 'bedrock'] },
  'a sound': { input_audio: [...WITHOUT_FILES, 'openai', 'openrouter', 'anthropic', 'bedrock'] },

  'one tool after the other': { parallel_tool_calls: ['deepseek', 'ollama', 'gemini', 'vertex', 'bedrock'] },
  'some tool': { tool_choice: ['ollama'] },
  'a certain tool': { tool_choice: ['ollama'] },
  'no tool': { tool_choice: ['ollama'] },
  'some tool of none': { tool_choice: [...WITHOUT_FILES, 'openai', 'openrouter', ...BY_MESSAGES] },
  'results and no tools': { tools: ['bedrock'] },
  'results and no tool': { tool_choice: ['ollama', 'bedrock'] },

  'effort none': {
    reasoning_effort: [
      'mistral',
      'deepseek',
      'llama-cpp',
      'gemini gemini-2.5-pro',
      'gemini gemini-3-pro-preview',
      'vertex gemini-3-pro-preview',
      'bedrock openai.gpt-oss-120b-1:0',
    ],
  },
  'effort minimal': { reasoning_effort: WITHOUT_EFFORT },
  'effort low': { reasoning_effort: WITHOUT_EFFORT },
  'effort medium': { reasoning_effort: WITHOUT_EFFORT },
  'effort high': { reasoning_effort: WITHOUT_HIGH_EFFORT },
  'effort xhigh': { reasoning_effort: WITHOUT_HIGH_EFFORT },
  'effort max': { reasoning_effort: WITHOUT_HIGH_EFFORT },
  'effort in a small maximum': { reasoning_effort: WITHOUT_HIGH_EFFORT },
  'effort in a tiny maximum': {
    reasoning_effort: [
      ...WITHOUT_HIGH_EFFORT,
      'anthropic claude-sonnet-4-5-20250929',
      'bedrock us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    ],
  },
  'effort and temperature': { reasoning_effort: WITHOUT_EFFORT, temperature: THINKING_CLAUDE },
  'effort and values that change nothing': { reasoning_effort: WITHOUT_EFFORT },
  'effort and some tool': { reasoning_effort: WITHOUT_EFFORT, tool_choice: ['ollama', ...THINKING_CLAUDE] },
  'effort and prefill': { reasoning_effort: WITHOUT_EFFORT, prefill: [...THINKING_CLAUDE, ...GEMINI_3] },
  'effort and a JSON schema': {
    response_format: WITHOUT_SCHEMAS,
    reasoning_effort: WITHOUT_EFFORT.filter((where) => !WITHOUT_SCHEMAS.includes(where)),
  },
  'effort and lost thoughts': { reasoning_effort: WITHOUT_EFFORT },
  'thoughts without a signature': { reasoning_effort: WITHOUT_EFFORT },
  'thoughts signed: anthropic': { reasoning_effort: WITHOUT_EFFORT },
  'thoughts signed: encrypted': { reasoning_effort: WITHOUT_EFFORT },
  'thoughts signed: bedrock': { reasoning_effort: WITHOUT_EFFORT },
  'thoughts signed: gemini': { reasoning_effort: WITHOUT_EFFORT },

  cache_control: { images: ['deepseek'] },
}

/** The field that a target refuses a request for. */
export function refusalOf(request: string, { preset, name }: { preset: string; name: string }): string | undefined {
  const fields = Object.entries(REFUSALS[request] ?? {})
  return fields.find(([, where]) => where.includes(preset) || where.includes(name))?.[0]
}
