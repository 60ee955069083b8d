import { ROUTE_FIELDS } from '../../src/rules/calls/route-fields.ts'
import type { OpenAICompatibleSettings } from '../../src/providers/openai/openai-settings.ts'
import type { Fields } from './requests.ts'
import type { Target } from './targets.ts'

/**
 * The requests that are not sent, and the field that is the reason: by the kind of a provider, or by kind and model. Requests
 * that are not listed here are sent. Providers of OpenAI's format are not in the list: their settings decide, see below.
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
  'anthropic claude-opus-4-6',
  'anthropic claude-opus-4-7',
  ...GEMINI_3,
  'bedrock us.anthropic.claude-opus-4-6-v1',
]
const WITHOUT_PENALTIES = [
  'anthropic',
  'gemini gemini-2.5-flash',
  'gemini gemini-2.5-pro',
  'gemini gemini-3-pro-preview',
  'gemini gemini-3-flash-preview',
  'vertex',
  'bedrock',
]
/** Older ones are held to a schema only by a tool. */
const WITHOUT_SCHEMAS = ['anthropic claude-3-5-haiku-20241022']
const WITHOUT_EFFORT = [
  'anthropic claude-3-5-haiku-20241022',
  'gemini gemini-2.0-flash',
  'bedrock us.meta.llama3-3-70b-instruct-v1:0',
]
/** It has no bound of what it costs from there on. */
const WITHOUT_HIGH_EFFORT = [...WITHOUT_EFFORT, 'bedrock us.amazon.nova-2-lite-v1:0']

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
  'a seed': { seed: ['anthropic', 'bedrock'] },
  'a large seed': { seed: BY_MESSAGES },
  presence_penalty: { presence_penalty: WITHOUT_PENALTIES },
  frequency_penalty: { frequency_penalty: WITHOUT_PENALTIES },
  logit_bias: { logit_bias: BY_MESSAGES },
  logprobs: { logprobs: BY_MESSAGES },
  verbosity: { verbosity: BY_MESSAGES },
  prediction: { prediction: BY_MESSAGES },

  'any JSON': { response_format: ['anthropic', 'bedrock'] },
  'any JSON beside tools': { response_format: ['anthropic', ...GEMINI_BEFORE_3, 'bedrock'] },
  'a JSON schema': { response_format: WITHOUT_SCHEMAS },
  'a JSON schema with nulls beside it': { response_format: WITHOUT_SCHEMAS },
  'an open JSON schema': { response_format: ['anthropic'] },
  'a JSON schema beside tools': {
    response_format: [...WITHOUT_SCHEMAS, ...GEMINI_BEFORE_3, 'bedrock'],
  },

  'an image by address': { images: ['bedrock'] },
  'a bitmap': { images: ['anthropic', 'bedrock'] },
  'a PDF and nothing else': { files: ['bedrock'] },
  'a text file': { files: ['bedrock'] },
  'a sound': { input_audio: BY_MESSAGES },

  'one tool after the other': { parallel_tool_calls: ['gemini', 'vertex', 'bedrock'] },
  'some tool of none': { tool_choice: BY_MESSAGES },
  'results and no tools': { tools: ['bedrock'] },
  'results and no tool': { tool_choice: ['bedrock'] },

  'effort none': {
    reasoning_effort: [
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
  'effort and some tool': { reasoning_effort: WITHOUT_EFFORT, tool_choice: THINKING_CLAUDE },
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
}

/** Fields of a request that ask for nothing there. */
const ASKS_NOTHING: Readonly<Record<string, readonly string[]>> = {
  'values that change nothing': ROUTE_FIELDS,
  'choices without tools': ['tool_choice', 'parallel_tool_calls'],
  'empty stops only': ['stop'],
  'several tools': ['tool_choice', 'parallel_tool_calls'],
  'effort and values that change nothing': ['temperature', 'top_p'],
}

const PREFILLED = new Set([
  'a system text after an answer',
  'whitespace at the end',
  'nothing at the end',
  'prefill',
  'prefill with its thoughts',
  'effort and prefill',
])

/** The text of fields that are nested inside a request, as it appears in its JSON. */
const INNER: Readonly<Record<string, string>> = {
  images: '"type":"image_url"',
  image_urls: '"url":"https:',
  files: '"type":"file"',
  input_audio: '"type":"input_audio"',
  json_schema: '"type":"json_schema"',
}

/** Returns the fields that a request asks for, in the words of `--unsupported` and in their order. */
function askedIn(request: string, fields: Fields): string[] {
  const text = JSON.stringify(fields)
  return ROUTE_FIELDS.filter((field) => {
    if (field === 'prefill') return PREFILLED.has(request)
    const inner = INNER[field]
    if (inner !== undefined) return text.includes(inner)
    return fields[field] != null && !ASKS_NOTHING[request]?.includes(field)
  })
}

function isRefusedBy(settings: OpenAICompatibleSettings, field: string, fields: Fields): boolean {
  if (field === 'files' && !settings.readsFiles) return true
  if (field === 'input_audio' && !settings.readsAudio) return true
  if (field === 'tool_choice' && !fields.tools) return true
  return settings.unsupportedFields.some((unsupported) => unsupported === field)
}

/** The field that a target refuses a request for. */
export function refusalOf(request: string, fields: Fields, { kind, model, settings }: Target): string | undefined {
  if (settings) return askedIn(request, fields).find((field) => isRefusedBy(settings, field, fields))
  const refusals = Object.entries(REFUSALS[request] ?? {})
  return refusals.find(([, where]) => where.includes(kind) || where.includes(`${kind} ${model}`))?.[0]
}
