import type { OpenAICompatibleSettings } from '../../src/providers/openai/openai-settings.ts'
import { at, itemsIn, textOf, valuesIn, type Check } from './check.ts'
import type { Fields } from './requests.ts'

/** Checks for the requests that OpenAI, or another provider of its format, refuses. */

const anyOfThem: Check['about'] = ({ type }) => type === 'openai'
const where =
  (isMeant: (settings: OpenAICompatibleSettings) => boolean): Check['about'] =>
  ({ settings }) =>
    settings !== undefined && isMeant(settings)

function messagesOf({ messages }: Fields): Fields[] {
  return itemsIn(messages)
}

const answer = (more: Fields): Fields => ({ messages: [{ role: 'assistant', content: 'Hi', ...more }] })
const CALL = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }

const MISTRAL_FIELDS = new Set([
  'model',
  'messages',
  'stream',
  'temperature',
  'top_p',
  'max_tokens',
  'stop',
  'random_seed',
  'response_format',
  'tools',
  'tool_choice',
  'presence_penalty',
  'frequency_penalty',
  'n',
  'prediction',
  'parallel_tool_calls',
  'prompt_mode',
  'safe_prompt',
  'metadata',
])
const MISTRAL_MESSAGE_FIELDS = new Set(['role', 'content', 'tool_calls', 'tool_call_id', 'name', 'prefix'])

const BESIDE_ANSWERS = ['refusal', 'cache_control', 'reasoning']
const NOT_OF_THEIRS = [...BESIDE_ANSWERS, 'reasoning_content', 'verbosity']

/** Names anywhere in a body, by preset. One that is not in it is judged by its settings alone. */
const DOCUMENTED_REFUSALS: Readonly<Record<string, readonly string[]>> = {
  openai: ['prediction', 'cache_control', 'reasoning', 'reasoning_content'],
  azure: ['prediction', 'cache_control', 'reasoning', 'reasoning_content'],
  groq: [
    ...NOT_OF_THEIRS,
    'logit_bias',
    'presence_penalty',
    'frequency_penalty',
    'logprobs',
    'top_logprobs',
    'prediction',
  ],
  deepseek: [
    ...BESIDE_ANSWERS,
    'seed',
    'logit_bias',
    'image_url',
    'json_schema',
    'parallel_tool_calls',
    'reasoning_effort',
    'verbosity',
    'prediction',
  ],
  together: [...NOT_OF_THEIRS, 'prediction'],
  openrouter: ['reasoning_content'],
  fireworks: NOT_OF_THEIRS,
  xai: [...NOT_OF_THEIRS, 'logit_bias', 'presence_penalty', 'frequency_penalty', 'prediction'],
  vllm: [...BESIDE_ANSWERS, 'verbosity', 'prediction'],
  ollama: [...NOT_OF_THEIRS, 'logit_bias', 'tool_choice', 'parallel_tool_calls', 'prediction'],
  'llama-cpp': [...NOT_OF_THEIRS, 'reasoning_effort', 'prediction'],
}

export const OPENAI_CHECKS: readonly Check[] = [
  {
    title: 'a refusal of null',
    about: anyOfThem,
    finds: (body) => messagesOf(body).some(({ refusal }) => refusal === null),
    bad: [answer({ refusal: null })],
  },
  {
    title: 'a refusal where the field is not known',
    about: where(({ refusals }) => !refusals),
    finds: (body) => messagesOf(body).some((message) => 'refusal' in message),
    bad: [answer({ refusal: 'No.' })],
  },
  {
    title: 'an empty list of calls',
    about: anyOfThem,
    finds: (body) =>
      messagesOf(body).some((message) => 'tool_calls' in message && itemsIn(message.tool_calls).length === 0),
    bad: [answer({ tool_calls: [] }), answer({ tool_calls: null })],
  },
  {
    title: 'arguments that are no text',
    about: anyOfThem,
    finds: (body) =>
      messagesOf(body)
        .flatMap(({ tool_calls }) => itemsIn(tool_calls))
        .some((call) => !(call.function as Fields | undefined)?.arguments),
    bad: [answer({ tool_calls: [{ ...CALL, function: { name: 'f', arguments: '' } }] })],
  },
  {
    title: 'calls without content',
    about: anyOfThem,
    finds: (body) => messagesOf(body).some(({ content }) => content === undefined),
    bad: [{ messages: [{ role: 'assistant', tool_calls: [CALL] }] }],
  },
  {
    title: 'an empty stop',
    about: anyOfThem,
    finds: ({ stop }) => stop !== undefined && [stop].flat().some((one) => !one),
    bad: [{ stop: '' }, { stop: ['END', ''] }, { stop: null }],
  },
  {
    title: 'no stops at all',
    about: anyOfThem,
    finds: ({ stop }) => Array.isArray(stop) && stop.length === 0,
    bad: [{ stop: [] }],
  },
  {
    title: 'a choice of tools without tools',
    about: anyOfThem,
    finds: ({ tools, ...body }) =>
      itemsIn(tools).length === 0 && ('tool_choice' in body || 'parallel_tool_calls' in body),
    bad: [{ tool_choice: 'required' }, { tool_choice: 'none', tools: [] }, { parallel_tool_calls: false }],
  },
  {
    title: 'the usage of a stream where nobody is asked for it',
    about: where(({ askForUsage }) => !askForUsage),
    finds: (body) => 'stream_options' in body,
    bad: [{ stream_options: { include_usage: true } }],
  },
  {
    title: 'whom a call is for where there is no field for it',
    about: where(({ endUserField }) => endUserField === 'none'),
    finds: (body) => 'user' in body || 'safety_identifier' in body,
    bad: [{ user: 'x' }, { safety_identifier: 'x' }],
  },
  {
    title: 'a key of a cache where there is no field for it',
    about: where(({ promptCacheKey }) => !promptCacheKey),
    finds: (body) => 'prompt_cache_key' in body,
    bad: [{ prompt_cache_key: 'x' }],
  },
  ...(['max_tokens', 'max_completion_tokens'] as const).map((field): Check => ({
    title: `${field} where its other name is the right one`,
    about: where(({ maxTokensField }) => maxTokensField !== field),
    finds: (body) => field in body,
    bad: [{ [field]: 1 }],
  })),
  // The settings themselves may be wrong: these are what providers document.
  ...Object.entries(DOCUMENTED_REFUSALS).map(([preset, names]): Check => ({
    title: `fields that ${preset} refuses`,
    about: at(preset),
    finds: (body) => [...valuesIn(body)].some(({ name }) => names.includes(name)),
    bad: names.map((name) => ({ messages: [{ role: 'user', content: [{ [name]: 'x' }] }] })),
  })),
  {
    title: 'thoughts in the history where nobody asked for them',
    about: where(({ reasoningField }) => reasoningField !== 'reasoning_content'),
    finds: (body) => messagesOf(body).some((message) => 'reasoning_content' in message),
    bad: [answer({ reasoning_content: 'Hm.', tool_calls: [CALL] })],
  },
  {
    title: 'thoughts by their other name where nobody asked for them',
    about: where(({ reasoningField }) => reasoningField !== 'reasoning'),
    finds: (body) => messagesOf(body).some((message) => 'reasoning' in message),
    bad: [answer({ reasoning: 'Hm.', tool_calls: [CALL] })],
  },
  {
    title: 'our own proofs',
    about: anyOfThem,
    finds: (body) => messagesOf(body).some((message) => 'reasoning_signature' in message),
    bad: [answer({ reasoning_signature: 'gemini.e30' })],
  },
  {
    title: 'the thoughts of an answer without calls',
    about: anyOfThem,
    finds: (body) =>
      messagesOf(body).some(
        (message) => ('reasoning_content' in message || 'reasoning' in message) && !('tool_calls' in message),
      ),
    bad: [answer({ reasoning_content: 'Hm.' }), answer({ reasoning: 'Hm.' })],
  },
  {
    title: 'thoughts beside no content, which DeepSeek refuses',
    about: where(({ reasoningField }) => reasoningField === 'reasoning_content'),
    finds: (body) => messagesOf(body).some(({ content, reasoning_content }) => reasoning_content && content == null),
    bad: [answer({ content: null, reasoning_content: 'Hm.', tool_calls: [CALL] })],
  },
  {
    title: 'ids that are not nine letters or digits where they must be',
    about: where(({ toolCallIds }) => toolCallIds === 'nine'),
    finds: (body) =>
      messagesOf(body)
        .flatMap(({ tool_calls, tool_call_id }) => [...itemsIn(tool_calls).map(({ id }) => id), tool_call_id])
        .some((id) => id !== undefined && !/^[A-Za-z0-9]{9}$/.test(textOf(id))),
    bad: [answer({ tool_calls: [CALL] }), { messages: [{ role: 'tool', tool_call_id: 'call_1', content: 'x' }] }],
  },
  {
    title: 'fields that Mistral does not know',
    about: at('mistral'),
    finds: (body) =>
      Object.keys(body).some((field) => !MISTRAL_FIELDS.has(field)) ||
      messagesOf(body).some((message) => Object.keys(message).some((field) => !MISTRAL_MESSAGE_FIELDS.has(field))),
    bad: [{ stream_options: {} }, { user: 'x' }, { seed: 1 }, answer({ refusal: 'No.' }), answer({ reasoning: 'Hm.' })],
  },
  {
    title: 'an answer at the end where it is refused',
    about: where(({ unsupportedFields }) => unsupportedFields.includes('prefill')),
    finds: (body) => messagesOf(body).at(-1)?.role === 'assistant',
    bad: [answer({})],
  },
  {
    title: 'images by address where they are not fetched',
    about: where(({ unsupportedFields }) => unsupportedFields.includes('image_urls')),
    finds: (body) =>
      [...valuesIn(body)].some(({ name, value }) => name === 'url' && !textOf(value).startsWith('data:')),
    bad: [{ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x.org/a' } }] }] }],
  },
  {
    title: 'the role developer where it is not known',
    about: where(({ developerRole }) => !developerRole),
    finds: (body) => messagesOf(body).some(({ role }) => role === 'developer'),
    bad: [{ messages: [{ role: 'developer', content: 'Hi' }] }],
  },
  {
    title: 'marks of a cache where they are not known',
    about: where(({ cacheControl }) => !cacheControl),
    finds: (body) => [...valuesIn(body)].some(({ name }) => name === 'cache_control'),
    bad: [{ messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: {} }] }] }],
  },
]
