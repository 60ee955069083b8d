import { z } from 'zod'
import { REASONING_EFFORTS } from '../calls/chat-request.ts'

/** The answer of `POST /v1/responses`. */

export const sponsored = z
  .strictObject({
    label: z.string(),
    advertiser: z.string(),
    url: z.string(),
    characters: z.int().describe('How many characters at the end of the content are the recommendation.'),
  })
  .describe('Sent only if the content ends with a recommendation.')

const count = z.int().min(0)
const itemStatus = z.enum(['in_progress', 'completed', 'incomplete'])

const messageItem = z.strictObject({
  id: z.string(),
  type: z.literal('message'),
  status: itemStatus,
  role: z.literal('assistant'),
  content: z.array(
    z.union([
      z.strictObject({
        type: z.literal('output_text'),
        annotations: z.array(z.unknown()),
        logprobs: z.array(z.unknown()),
        text: z.string(),
        sponsored: sponsored.optional(),
      }),
      z.strictObject({ type: z.literal('refusal'), refusal: z.string() }),
    ]),
  ),
})
const reasoningItem = z.strictObject({
  id: z.string(),
  type: z.literal('reasoning'),
  summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() })),
  encrypted_content: z.string().optional(),
})
const callItem = z.strictObject({
  id: z.string(),
  type: z.literal('function_call'),
  status: itemStatus,
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
})

/** The fields of the request that SDKs expect to find in the answer. */
const echo = {
  access_programs: z.null(),
  background: z.literal(false),
  instructions: z.string().nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.null(),
  metadata: z.record(z.string(), z.string()),
  parallel_tool_calls: z.boolean(),
  previous_response_id: z.null(),
  prompt_cache_key: z.string().nullable(),
  reasoning: z.strictObject({ effort: z.enum(REASONING_EFFORTS).nullable(), summary: z.string().nullable() }),
  service_tier: z.literal('default'),
  store: z.literal(false),
  temperature: z.number().nullable(),
  text: z.strictObject({ format: z.looseObject({ type: z.string() }), verbosity: z.string().optional() }),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]),
  tools: z.array(z.looseObject({ type: z.literal('function'), name: z.string() })),
  top_logprobs: z.int(),
  top_p: z.number().nullable(),
  truncation: z.literal('disabled'),
  safety_identifier: z.string().optional(),
  user: z.string().optional(),
}

export const responseAnswer = z.strictObject({
  id: z.string().describe('Names the call everywhere, including its receipt.'),
  object: z.literal('response'),
  created_at: z.int().describe('Unix time in seconds.'),
  status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  incomplete_details: z.strictObject({ reason: z.enum(['max_output_tokens', 'content_filter']) }).nullable(),
  model: z.string().describe('The model that answered.'),
  output: z.array(z.union([messageItem, reasoningItem, callItem])),
  usage: z
    .strictObject({
      input_tokens: count,
      input_tokens_details: z.strictObject({ cached_tokens: count, cache_write_tokens: count }),
      output_tokens: count,
      output_tokens_details: z.strictObject({ reasoning_tokens: count }),
      total_tokens: count,
    })
    .nullable(),
  ...echo,
})
