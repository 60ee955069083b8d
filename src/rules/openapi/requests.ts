import { z } from 'zod'
import { chatBody, CONSUMED_FIELDS } from '../calls/chat-request.ts'
import { embeddingsBody } from '../calls/embeddings-request.ts'
import { METADATA_KEY_CHARACTERS_MAX, METADATA_PAIRS_MAX, METADATA_VALUE_CHARACTERS_MAX } from '../calls/metadata.ts'
import { responsesBody } from '../calls/responses/responses-request.ts'
import { sessionBody } from '../calls/session-request.ts'
import { conversionBody } from '../clicks/conversions.ts'
import { EMBEDDING_INPUTS_MAX } from '../limits.ts'
import {
  CHAT_WORDS,
  CONSUMED_WORDS,
  CONVERSION_WORDS,
  EMBEDDINGS_WORDS,
  RESPONSES_WORDS,
  SESSION_WORDS,
} from './field-words.ts'
import { schemaOfSent, type JsonSchema } from './json-schema.ts'

/** The bodies of requests. What their checks leave to code is said here once more; a test tries that both say the same. */

const chat = chatBody.shape

const CONSUMED: Record<(typeof CONSUMED_FIELDS)[number], JsonSchema> = {
  user: { type: 'string' },
  safety_identifier: { type: 'string' },
  metadata: {
    type: 'object',
    maxProperties: METADATA_PAIRS_MAX,
    propertyNames: { minLength: 1, maxLength: METADATA_KEY_CHARACTERS_MAX },
    additionalProperties: { type: 'string', maxLength: METADATA_VALUE_CHARACTERS_MAX },
  },
}

const tokenId = z
  .int()
  .min(0)
  .max(2 ** 31 - 1)
const embedded = z.string().min(1)
const embeddingInput = z.union([
  embedded,
  z.array(embedded).min(1).max(EMBEDDING_INPUTS_MAX),
  z.array(tokenId).min(1),
  z.array(z.array(tokenId).min(1)).min(1).max(EMBEDDING_INPUTS_MAX),
])

const inputText = z.object({ type: z.literal('input_text'), text: z.string() })
const userPart = z.union([
  inputText,
  z.object({
    type: z.literal('input_image'),
    image_url: z.string(),
    detail: z.enum(['auto', 'low', 'high']).nullish(),
  }),
  z.object({ type: z.literal('input_file'), file_data: z.string(), filename: z.string().max(255).nullish() }),
  z.object({
    type: z.literal('input_audio'),
    input_audio: z.object({ data: z.string(), format: z.enum(['wav', 'mp3']) }),
  }),
])
const saidPart = z.union([
  z.object({ type: z.enum(['output_text', 'input_text']), text: z.string() }),
  z.object({ type: z.literal('refusal'), refusal: z.string() }),
])
const message = { type: z.literal('message').optional() }
const inputItem = z.union([
  z.object({ ...message, role: z.literal('user'), content: z.union([z.string(), z.array(userPart).min(1)]) }),
  z.object({
    ...message,
    role: z.enum(['system', 'developer']),
    content: z.union([z.string(), z.array(inputText).min(1)]),
  }),
  z.object({ ...message, role: z.literal('assistant'), content: z.union([z.string(), z.array(saidPart).min(1)]) }),
  z.object({ type: z.literal('function_call'), call_id: z.string(), name: z.string(), arguments: z.string() }),
  z.object({
    type: z.literal('function_call_output'),
    call_id: z.string(),
    output: z.union([z.string(), z.array(inputText).min(1)]),
  }),
  z.object({
    type: z.literal('reasoning'),
    summary: z.array(z.object({ text: z.string() })).optional(),
    content: z.array(z.object({ text: z.string() })).nullish(),
    encrypted_content: z.string().nullish(),
  }),
])
const namedFunction = z.object({ type: z.literal('function'), name: z.string() })
const { function: chatFunction } = chat.tools.unwrap().element.shape
const responsesTool = z.object({
  type: z.literal('function'),
  name: chatFunction.shape.name,
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
})

const responsesFields = {
  input: z.union([z.string(), z.array(inputItem).min(1)]),
  models: chat.models,
  stream: chat.stream,
  temperature: chat.temperature,
  top_p: chat.top_p,
  max_output_tokens: chat.max_tokens,
  tools: z.array(responsesTool).max(128).optional(),
  tool_choice: z.union([
    z.enum(['none', 'auto', 'required']),
    namedFunction,
    z.object({
      type: z.literal('allowed_tools'),
      mode: z.enum(['auto', 'required']),
      tools: z.array(namedFunction),
    }),
  ]),
  parallel_tool_calls: chat.parallel_tool_calls,
  text: responsesBody.shape.text.unwrap().extend({ verbosity: chat.verbosity.nullish() }),
  reasoning: responsesBody.shape.reasoning.unwrap().extend({ effort: chat.reasoning_effort.nullish() }),
  top_logprobs: chat.top_logprobs,
  prompt_cache_key: chat.prompt_cache_key,
  service_tier: chat.service_tier,
}

function requestOf(
  body: z.ZodObject,
  words: Record<string, string>,
  instead: Record<string, z.ZodType> = {},
  consumed: Record<string, JsonSchema> = CONSUMED,
): JsonSchema {
  const { properties = {}, ...rest } = schemaOfSent(body) as { properties?: Record<string, JsonSchema> }
  const replaced = Object.entries(instead).map(([name, schema]) => [name, schemaOfSent(schema)] as const)
  const all = { ...properties, ...Object.fromEntries(replaced), ...consumed }
  const sentences: Record<string, string> = { ...CONSUMED_WORDS, ...words }
  const described = Object.entries(all).map(([name, schema]) => [name, { ...schema, description: sentences[name] }])
  return { ...rest, properties: Object.fromEntries(described) }
}

export const REQUEST_SCHEMAS = {
  ChatCompletionRequest: requestOf(chatBody, CHAT_WORDS),
  ResponseRequest: requestOf(responsesBody, RESPONSES_WORDS, responsesFields),
  EmbeddingsRequest: {
    ...requestOf(embeddingsBody, EMBEDDINGS_WORDS, { input: embeddingInput }),
    required: ['model', 'input'],
  },
  SessionRequest: requestOf(sessionBody, SESSION_WORDS, {}, {}),
  ConversionRequest: requestOf(conversionBody, CONVERSION_WORDS, {}, {}),
}
