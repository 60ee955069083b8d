import { at, itemsIn, textOf, valuesIn, type Check } from './check.ts'
import type { Fields } from './requests.ts'

/** What OpenAI refuses, and those who speak its format. */

const anyOfThem: Check['about'] = ({ type }) => type === 'openai'
const except =
  (...presets: string[]): Check['about'] =>
  ({ type, preset }) =>
    type === 'openai' && !presets.includes(preset)

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

export const OPENAI_CHECKS: readonly Check[] = [
  {
    title: 'a refusal of null',
    about: anyOfThem,
    finds: (body) => messagesOf(body).some(({ refusal }) => refusal === null),
    bad: [answer({ refusal: null })],
  },
  {
    title: 'a refusal where the field is not known',
    about: except('openai', 'azure', 'openrouter'),
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
    title: 'penalties at xAI',
    about: at('xai'),
    finds: (body) => 'presence_penalty' in body || 'frequency_penalty' in body,
    bad: [{ presence_penalty: 0 }, { frequency_penalty: 0 }],
  },
  {
    title: 'thoughts in the history where nobody asked for them',
    about: except('deepseek', 'vllm'),
    finds: (body) => messagesOf(body).some((message) => 'reasoning_content' in message),
    bad: [answer({ reasoning_content: 'Hm.', tool_calls: [CALL] })],
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
    title: 'thoughts beside no content at DeepSeek',
    about: at('deepseek'),
    finds: (body) => messagesOf(body).some(({ content, reasoning_content }) => reasoning_content && content == null),
    bad: [answer({ content: null, reasoning_content: 'Hm.', tool_calls: [CALL] })],
  },
  {
    title: 'ids at Mistral that are not nine letters or digits',
    about: at('mistral'),
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
    title: 'an answer at the end at Mistral',
    about: at('mistral'),
    finds: (body) => messagesOf(body).at(-1)?.role === 'assistant',
    bad: [answer({})],
  },
  {
    title: 'images by address at Ollama',
    about: at('ollama'),
    finds: (body) =>
      [...valuesIn(body)].some(({ name, value }) => name === 'url' && !textOf(value).startsWith('data:')),
    bad: [{ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x.org/a' } }] }] }],
  },
  {
    title: 'the role developer where it is not known',
    about: except('openai', 'azure', 'openrouter'),
    finds: (body) => messagesOf(body).some(({ role }) => role === 'developer'),
    bad: [{ messages: [{ role: 'developer', content: 'Hi' }] }],
  },
  {
    title: 'marks of a cache where they are not known',
    about: except('openrouter'),
    finds: (body) => [...valuesIn(body)].some(({ name }) => name === 'cache_control'),
    bad: [{ messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: {} }] }] }],
  },
]
