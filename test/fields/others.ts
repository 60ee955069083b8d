import { everywhere, keeps, refused, sees, TOOL, type Row } from './row.ts'

const SECRET = 'ada-lovelace-1815'
const asked = (field: string, value: unknown) => ({ [field]: value })

/** In the OpenAI format alone. */
function onlyOpenAi(field: string, does: string, request: Record<string, unknown>): Row {
  const cases = [{ name: 'any', request, ...everywhere(refused(field)), openai: sees(request) }]
  return { field, does, cases }
}

/** One value is what is done anyway; all others are refused before any provider is chosen. */
function onlyValue(field: string, does: string, honoured: unknown, others: unknown): Row {
  return {
    field,
    does,
    cases: [
      { name: JSON.stringify(honoured), request: asked(field, honoured), ...everywhere(sees({ [field]: undefined })) },
      { name: 'others', request: asked(field, others), ...everywhere(refused(field)) },
    ],
  }
}

function never(field: string, does: string, value: unknown): Row {
  return { field, does, cases: [{ name: 'any', request: asked(field, value), ...everywhere(refused(field)) }] }
}

const PREDICTION = { type: 'content', content: 'The same again.' }

/** Fields that Parley itself reads, fields that only some providers know, and values that ask for nothing. */
export const OTHERS: Row[] = [
  {
    field: 'model',
    does: 'An `id` from `GET /v1/models`. Providers see their own name for it.',
    isOurs: true,
    cases: [
      {
        name: 'any',
        request: {},
        openai: sees({ model: 'gpt-5' }),
        anthropic: sees({ model: 'claude-opus-4-5' }),
        gemini: keeps('models/', { model: undefined }),
        bedrock: keeps('models/', { model: undefined }),
      },
    ],
  },
  {
    field: 'stream, stream_options',
    also: ['stream', 'stream_options'],
    does: 'An answer word by word; with `include_usage`, usage at its end.',
    cases: [
      {
        name: '`include_usage`',
        request: { stream_options: { include_usage: true } },
        ...everywhere(sees({}, { answered: ['usage'] })),
      },
      {
        name: 'without it',
        request: { stream_options: { include_usage: false } },
        ...everywhere(sees({}, { answered: ['no usage'] })),
      },
    ],
  },
  onlyOpenAi('verbosity', 'How long-winded the answer is. `medium` has no effect.', { verbosity: 'low' }),
  {
    field: 'logprobs',
    does: 'How likely each token was. `false` has no effect.',
    cases: [
      {
        name: '`true`',
        request: { logprobs: true },
        ...everywhere(refused('logprobs')),
        openai: sees({ logprobs: true }, { answered: ['logprobs'] }),
      },
    ],
  },
  {
    field: 'top_logprobs',
    does: 'How many alternatives to show for each token, with `logprobs: true`.',
    cases: [
      {
        name: 'with `logprobs`',
        request: { logprobs: true, top_logprobs: 2 },
        ...everywhere(refused('logprobs')),
        openai: sees({ logprobs: true, top_logprobs: 2 }, { answered: ['logprobs'] }),
      },
      { name: 'alone', request: { top_logprobs: 2 }, ...everywhere(refused('top_logprobs')) },
    ],
  },
  onlyOpenAi('prediction', 'What the answer will mostly be, to have it sooner.', { prediction: PREDICTION }),
  ...['user', 'safety_identifier'].map((field): Row => ({
    field,
    does: 'The user the call is for, unless `x-end-user-id` names one. Providers get at most a digest.',
    cases: [{ name: 'any', request: asked(field, SECRET), ...everywhere(keeps(SECRET)) }],
  })),
  {
    field: 'models',
    does: 'Further models to [fall back on](api.md#fallbacks).',
    cases: [{ name: 'any', request: { models: [] }, ...everywhere(sees({ models: undefined })) }],
  },
  {
    field: 'metadata',
    does: 'Kept with the call: [the console finds calls by it](api.md#post-v1chatcompletions). No provider sees it.',
    cases: [{ name: 'any', request: { metadata: { note: SECRET } }, ...everywhere(keeps(SECRET)) }],
  },
  {
    field: 'prompt_cache_key',
    does: 'Names the conversation for [caches](api.md#prompt-caching). Providers get at most a digest.',
    cases: [{ name: 'any', request: { prompt_cache_key: SECRET }, ...everywhere(keeps(SECRET)) }],
  },
  onlyValue('service_tier', 'Only `auto` and `default`: other tiers are not available.', 'auto', 'flex'),
  onlyValue('modalities', 'Answers are text.', ['text'], ['text', 'audio']),
  onlyValue('store', 'No provider keeps completions. `x-conversation-id` keeps a conversation here.', false, true),
  never('audio', 'Answers are text.', { voice: 'alloy', format: 'wav' }),
  never('web_search_options', 'Offer a search of your own in `tools`.', {}),
  never('functions', 'The old name of `tools`.', [{ name: 'look_up' }]),
  never('function_call', 'The old name of `tool_choice`.', 'auto'),
  {
    field: 'default values',
    does: 'Values that SDKs send by default are never refused; nor is `null` in an optional field.',
    cases: [
      {
        name: 'defaults',
        isAside: true,
        request: {
          temperature: 1,
          top_p: 1,
          n: 1,
          presence_penalty: 0,
          frequency_penalty: 0,
          logit_bias: {},
          stop: [''],
          response_format: { type: 'text' },
          tool_choice: 'auto',
          parallel_tool_calls: true,
          verbosity: 'medium',
          logprobs: false,
          service_tier: 'default',
        },
        openai: sees({ stop: undefined, tool_choice: undefined, parallel_tool_calls: undefined }),
        anthropic: sees({ temperature: undefined, top_p: undefined, stop_sequences: undefined }),
        gemini: sees({ 'generationConfig.presencePenalty': undefined, 'generationConfig.stopSequences': undefined }),
        bedrock: sees({ 'inferenceConfig.stopSequences': undefined }),
      },
      {
        name: 'defaults beside thinking',
        isAside: true,
        request: { temperature: 1, top_p: 1, reasoning_effort: 'low', tools: [TOOL], tool_choice: 'auto' },
        openai: sees({ reasoning_effort: 'low' }),
        anthropic: sees({ 'thinking.type': 'enabled', temperature: undefined }),
        gemini: sees({ 'generationConfig.thinkingConfig.thinkingBudget': 1_024 }),
        bedrock: sees({ 'additionalModelRequestFields.thinking.type': 'enabled' }),
      },
      {
        name: 'defaults on Claude 4.7 and newer',
        isAside: true,
        request: { temperature: 1, top_p: 1 },
        models: { anthropic: 'claude-opus-4-7', bedrock: 'us.anthropic.claude-opus-4-7' },
        openai: sees({}),
        anthropic: sees({ temperature: undefined, top_p: undefined }),
        gemini: sees({}),
        bedrock: sees({ 'inferenceConfig.temperature': undefined, 'inferenceConfig.topP': undefined }),
      },
      {
        name: 'null',
        request: Object.fromEntries(
          ['seed', 'stop', 'logit_bias', 'tools', 'tool_choice', 'reasoning_effort', 'prediction', 'audio']
            .concat(['functions', 'store', 'response_format', 'user', 'metadata', 'top_logprobs', 'modalities'])
            .map((field) => [field, null]),
        ),
        ...everywhere(keeps('null')),
      },
      {
        name: 'unknown fields',
        request: { a_field_of_next_year: SECRET },
        ...everywhere(keeps(SECRET)),
      },
    ],
  },
]
