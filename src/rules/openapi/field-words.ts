import type { CONSUMED_FIELDS, chatBody } from '../calls/chat-request.ts'
import type { embeddingsBody } from '../calls/embeddings-request.ts'
import type { responsesBody } from '../calls/responses/responses-request.ts'
import type { conversionBody } from '../clicks/conversions.ts'
import type { sessionBody } from '../calls/session-request.ts'

/** The purpose of each field of a request, in a sentence. The types ensure that every field that is checked has one. */

type Consumed = (typeof CONSUMED_FIELDS)[number]
type WordsOf<Body extends { shape: object }> = Record<Exclude<keyof Body['shape'], Consumed>, string>

export const CONSUMED_WORDS: Record<Consumed, string> = {
  user: 'The user the call is for, if neither x-end-user-id nor safety_identifier names one. Kept and passed on only as a keyed digest.',
  safety_identifier:
    'The user the call is for, if there is no x-end-user-id. Kept and passed on only as a keyed digest.',
  metadata:
    'Up to 16 pairs (64 characters in a key, 512 in a value), kept with the call and never sent to a provider. {"monetization": "off"} asks for no recommendation.',
}

const MODELS =
  'Up to 8 further models to fall back on, in this order, when every provider of the previous ones has failed.'
const CACHE_KEY = 'Names the conversation for prompt caches if there is no x-conversation-id. Never passed on as it is.'
const TIER = 'auto or default: other tiers are not available.'
const LOGPROBS_COUNT = 'How many alternative tokens to show at each position, 0 to 20.'

export const CHAT_WORDS: WordsOf<typeof chatBody> = {
  model: 'The id of a model, from GET /v1/models.',
  messages: 'The conversation so far, oldest first. The model knows nothing else.',
  stream: 'true: the answer arrives as server-sent events. Default false.',
  temperature: 'How varied the answer is, from 0 to 2.',
  max_tokens: 'The longest the answer may be, in tokens, including thoughts.',
  top_p: 'Nucleus sampling, from 0 to 1; an alternative to temperature.',
  max_completion_tokens: 'The same as max_tokens under its newer name. Send one, or the same value in both.',
  n: 'Always 1: Parley answers with one choice.',
  stop: 'Up to 4 texts that end the answer.',
  seed: 'Asks for the same answer to the same request, if the model supports it.',
  presence_penalty: 'From -2 to 2: how much to avoid words that were already used.',
  frequency_penalty: 'From -2 to 2: how much to avoid words, depending on how often they were used.',
  logit_bias: 'Makes tokens likelier or less likely, by their ids, from -100 to 100.',
  response_format: 'text, json_object, or json_schema with a name and a schema.',
  tools: 'Functions that the model may ask you to call.',
  tool_choice: 'none, auto, required, or the one function to call.',
  parallel_tool_calls: 'false: at most one tool call at a time.',
  reasoning_effort: 'How hard a reasoning model should think.',
  verbosity: 'How long the answer should be.',
  logprobs: 'true: choices[0].logprobs shows how likely each token was. Not with an Idempotency-Key.',
  top_logprobs: `${LOGPROBS_COUNT} Needs logprobs: true.`,
  prediction: 'What most of the answer will be, for models that support it.',
  prompt_cache_key: CACHE_KEY,
  models: MODELS,
  stream_options: 'include_usage: true adds a last chunk with the usage.',
  service_tier: TIER,
  modalities: 'Only text: Parley answers with text.',
  store: 'false, or left out: no provider keeps completions. x-conversation-id keeps a conversation.',
  audio: 'Not supported: Parley answers with text only.',
  web_search_options: 'Not supported: offer a search of your own in tools.',
  functions: 'Not supported: send tools instead.',
  function_call: 'Not supported: send tool_choice instead.',
}

export const RESPONSES_WORDS: WordsOf<typeof responsesBody> = {
  model: CHAT_WORDS.model,
  input: 'A text, or the items of the whole conversation.',
  models: MODELS,
  instructions: 'A system message before the input.',
  stream: CHAT_WORDS.stream,
  temperature: CHAT_WORDS.temperature,
  top_p: CHAT_WORDS.top_p,
  max_output_tokens: CHAT_WORDS.max_tokens,
  tools: CHAT_WORDS.tools,
  tool_choice: 'none, auto, required, one function, or allowed_tools: the model is then shown only those.',
  parallel_tool_calls: CHAT_WORDS.parallel_tool_calls,
  text: 'format: text, json_object, or json_schema with name and schema. verbosity: how long the answer should be.',
  reasoning: 'effort: how hard to think. summary: shows the thoughts, as a reasoning item.',
  include:
    'reasoning.encrypted_content: thoughts that can be sent back. message.output_text.logprobs: shows how likely each token was.',
  top_logprobs: `${LOGPROBS_COUNT} Needs include: ["message.output_text.logprobs"].`,
  stream_options: 'Has no effect.',
  prompt_cache_key: CACHE_KEY,
  service_tier: TIER,
  store: 'false, or left out: answers are not stored. Send the whole conversation in input.',
  truncation: 'Only disabled: Parley never cuts a prompt.',
  background: 'Only false: every call is answered directly. Stream long answers.',
  previous_response_id: 'Not supported: answers are not stored. Send the whole conversation in input.',
  conversation: 'Not supported: send the conversation in input, and name it with the header x-conversation-id.',
  prompt: 'Not supported: Parley has no prompt templates. Send instructions and input.',
  max_tool_calls: 'Not supported: it limits provider-run tools, which are not available.',
  context_management: 'Not supported: Parley never cuts a prompt.',
  moderation: 'Not supported: run your own moderation before the call.',
}

export const EMBEDDINGS_WORDS: WordsOf<typeof embeddingsBody> = {
  model: 'The id of an embedding model, from GET /v1/models.',
  input: 'A text, up to 2,048 texts, or token ids of the model’s own tokenizer (one array, or one for each input).',
  encoding_format: 'float (default), or base64: 32-bit little-endian numbers.',
  dimensions: 'How long the vectors should be, for models that can shorten them.',
}

export const SESSION_WORDS: WordsOf<typeof sessionBody> = {
  end_user: 'The user its calls are for. If missing, x-end-user-id is read.',
  models: 'The models it may use. Default: all models of the project.',
  max_tokens: 'The most tokens that one call may ask for.',
  calls: 'How many calls it may make in total.',
  money: 'What its calls may cost together, in nanos as text: "250000000" is $0.25.',
  seconds: 'How long it lives.',
  origins: 'The https origins on your verified domain that may use it. Default: the domain and all its subdomains.',
}

export const CONVERSION_WORDS: WordsOf<typeof conversionBody> = {
  id: 'Your id for the event. The same id counts once.',
  event_type: 'What happened. Always purchase.',
  timestamp: 'When it happened, in Unix seconds.',
  value: 'The total of the purchase.',
  currency_code: 'The currency of value, as an ISO 4217 code.',
  user_data:
    'click_id: the parley_click of the link, from the last click before the purchase. Nothing else is accepted.',
}
