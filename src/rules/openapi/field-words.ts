import type { CONSUMED_FIELDS, chatBody } from '../calls/chat-request.ts'
import type { embeddingsBody } from '../calls/embeddings-request.ts'
import type { responsesBody } from '../calls/responses/responses-request.ts'
import type { conversionBody } from '../clicks/conversions.ts'
import type { sessionBody } from '../calls/session-request.ts'

/** What each field of a request is for, in a sentence. The types see to it that every field that is checked has one. */

type Consumed = (typeof CONSUMED_FIELDS)[number]
type WordsOf<Body extends { shape: object }> = Record<Exclude<keyof Body['shape'], Consumed>, string>

export const CONSUMED_WORDS: Record<Consumed, string> = {
  user: 'Whom the call is for, where neither x-end-user-id nor safety_identifier says it. Kept and passed on only as a keyed digest.',
  safety_identifier:
    'Whom the call is for, where there is no x-end-user-id. Kept and passed on only as a keyed digest.',
  metadata:
    'Up to 16 pairs (64 characters in a key, 512 in a value), kept with the call and sent to no provider. {"monetization": "off"} asks for no recommendation.',
}

const MODELS =
  'Up to 8 further models to fall back on, in this order, when every provider of the ones before has failed.'
const CACHE_KEY =
  'Names the conversation for caches of prompts where there is no x-conversation-id. Never passed on as it is.'
const TIER = 'auto or default: how a call is served is not chosen here.'
const LOGPROBS_COUNT = 'How many other tokens to show for each place, 0 to 20.'

export const CHAT_WORDS: WordsOf<typeof chatBody> = {
  model: 'The id of a model, from GET /v1/models.',
  messages: 'The conversation so far, oldest first. It is all that the model knows.',
  stream: 'true: the answer comes as server-sent events. Default false.',
  temperature: 'How varied the answer is, from 0 to 2.',
  max_tokens: 'The most that the answer may have, in tokens, thoughts included.',
  top_p: 'Nucleus sampling, from 0 to 1; an alternative to temperature.',
  max_completion_tokens: 'The same as max_tokens under its newer name. Send one, or the same value in both.',
  n: 'Always 1: there is one choice.',
  stop: 'Up to 4 texts at which the answer ends.',
  seed: 'Asks for the same answer to the same request, where the model can.',
  presence_penalty: 'From -2 to 2: how much to avoid words that were used at all.',
  frequency_penalty: 'From -2 to 2: how much to avoid words by how often they were used.',
  logit_bias: 'Makes tokens likelier or less likely, by their ids, from -100 to 100.',
  response_format: 'text, json_object, or json_schema with a name and a schema.',
  tools: 'Functions that the model may ask you to call.',
  tool_choice: 'none, auto, required, or the one function that must be called.',
  parallel_tool_calls: 'false: at most one call of a tool at a time.',
  reasoning_effort: 'How hard a model that reasons is to think.',
  verbosity: 'How long the answer is to be.',
  logprobs: 'true: choices[0].logprobs has how likely each token was. Not with an Idempotency-Key.',
  top_logprobs: `${LOGPROBS_COUNT} Needs logprobs: true.`,
  prediction: 'What most of the answer will be, for models that take one.',
  prompt_cache_key: CACHE_KEY,
  models: MODELS,
  stream_options: 'include_usage: true adds a last chunk with the usage.',
  service_tier: TIER,
  modalities: 'Only text: answers are text here.',
  store: 'false, or left out: no provider keeps completions. x-conversation-id keeps a conversation.',
  audio: 'Not supported: answers are text here.',
  web_search_options: 'Not supported: offer a search of your own in tools.',
  functions: 'Not supported: send tools instead.',
  function_call: 'Not supported: send tool_choice instead.',
}

export const RESPONSES_WORDS: WordsOf<typeof responsesBody> = {
  model: CHAT_WORDS.model,
  input: 'What is asked: a text, or the items of the whole conversation.',
  models: MODELS,
  instructions: 'A system message before the input.',
  stream: CHAT_WORDS.stream,
  temperature: CHAT_WORDS.temperature,
  top_p: CHAT_WORDS.top_p,
  max_output_tokens: CHAT_WORDS.max_tokens,
  tools: CHAT_WORDS.tools,
  tool_choice: 'none, auto, required, one function, or allowed_tools: the model is then told of no others.',
  parallel_tool_calls: CHAT_WORDS.parallel_tool_calls,
  text: 'format: text, json_object, or json_schema with name and schema. verbosity: how long the answer is to be.',
  reasoning: 'effort: how hard to think. summary: shows the thoughts, as a reasoning item.',
  include:
    'reasoning.encrypted_content: thoughts that can be sent back. message.output_text.logprobs: how likely each token was.',
  top_logprobs: `${LOGPROBS_COUNT} Needs include: ["message.output_text.logprobs"].`,
  stream_options: 'Of no effect.',
  prompt_cache_key: CACHE_KEY,
  service_tier: TIER,
  store: 'false, or left out: answers are not stored. Send the whole conversation in input.',
  truncation: 'Only disabled: nothing is left out of a prompt here.',
  background: 'Only false: an answer is given at once. Stream it if it takes long.',
  previous_response_id: 'Not supported: answers are not stored. Send the whole conversation in input.',
  conversation: 'Not supported: send the conversation in input, and name it by the header x-conversation-id.',
  prompt: 'Not supported: there are no templates. Send instructions and input.',
  max_tool_calls: 'Not supported: it limits tools that a provider runs, which are not offered here.',
  context_management: 'Not supported: nothing is left out of a prompt here.',
  moderation: 'Not supported: run your own moderation before the call.',
}

export const EMBEDDINGS_WORDS: WordsOf<typeof embeddingsBody> = {
  model: 'The id of a model that makes embeddings, from GET /v1/models.',
  input: 'A text, up to 2,048 texts, or token ids of the model’s own tokenizer (one array, or one for each input).',
  encoding_format: 'float (default), or base64: 32-bit numbers, the lowest byte first.',
  dimensions: 'How long the vectors are to be, for models that can shorten them.',
}

export const SESSION_WORDS: WordsOf<typeof sessionBody> = {
  end_user: 'Whom its calls are for; x-end-user-id is read where it is missing.',
  models: 'The models that it may use. Left out: all those of the project.',
  max_tokens: 'The most that one call may ask for.',
  calls: 'How many calls it may make in its life.',
  money: 'What its calls may cost together, in nanos as text: "250000000" is $0.25.',
  seconds: 'How long it lives.',
  origins: 'The https origins on your verified domain that may use it. Left out: the domain and all below it.',
}

export const CONVERSION_WORDS: WordsOf<typeof conversionBody> = {
  id: 'Yours, of the event: the same one counts once.',
  event_type: 'What happened. Only purchases are taken.',
  timestamp: 'When it happened, in Unix seconds.',
  value: 'What the purchase came to.',
  currency_code: 'The currency of value, by ISO 4217.',
  user_data:
    'click_id: what the link had as parley_click, of the last click before the purchase. Nothing else is taken.',
}
