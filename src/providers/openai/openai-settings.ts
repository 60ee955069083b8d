import { z } from 'zod'
import { CONFIGURABLE_FIELDS } from '../../rules/calls/route-fields.ts'

export const KEY_STATUSES = [401, 402, 403]
const headerName = z.string().regex(/^[a-z0-9-]{1,100}$/, 'must be the name of a header, in lower case')
const headerValue = z.string().regex(/^[\x20-\x7e]{1,1000}$/, 'must be one line of printable ASCII')
const optionalField = z.enum(CONFIGURABLE_FIELDS)

/** The differences between providers of this format. A new provider is a few of these, and no code. */
export const openAICompatibleSettings = z.strictObject({
  /** The header that carries the key, and the word before it. */
  auth: z
    .strictObject({ header: headerName, scheme: headerValue.optional() })
    .default({ header: 'authorization', scheme: 'Bearer' }),
  path: z.string().startsWith('/').default('/chat/completions'),
  /** Where it makes embeddings. */
  embeddingsPath: z.string().startsWith('/').default('/embeddings'),
  /** `base64`: it is asked for vectors in that form, a quarter as long; others may refuse the field. Both forms are read. */
  embeddingFormat: z.enum(['float', 'base64']).default('float'),
  /** Added to each address, such as an api-version. */
  query: z.record(z.string(), z.string()).default({}),
  /** Sent with each request. */
  headers: z.record(headerName, headerValue).default({}),
  maxTokensField: z.enum(['max_tokens', 'max_completion_tokens']).default('max_tokens'),
  /** False: it refuses stream_options, and reports usage unasked or not at all. */
  askForUsage: z.boolean().default(true),
  /** Whether it routes calls of the same conversation by a key to where their prompt is cached. */
  promptCacheKey: z.boolean().default(false),
  /** Request fields that none of its models can honour. */
  unsupportedFields: z.array(optionalField).default([]),
  /** Whether its models read files; most know only images. */
  readsFiles: z.boolean().default(false),
  readsAudio: z.boolean().default(false),
  /** False: instructions of the role developer are sent as system. */
  developerRole: z.boolean().default(false),
  /** Whether marks of where a prompt may be cached are passed on. Most providers cache by themselves. */
  cacheControl: z.boolean().default(false),
  /** Where the digest of whom a call is for is sent. */
  endUserField: z.enum(['user', 'safety_identifier', 'none']).default('user'),
  /** False: what a model has refused to say is sent as what it said. Some refuse the field. */
  refusals: z.boolean().default(false),
  /** Where it wants to see again what a model thought before it called tools. Others refuse the field. */
  reasoningField: z.enum(['reasoning_content', 'reasoning', 'none']).default('none'),
  /** `nine`: it takes only ids of nine letters and digits. */
  toolCallIds: z.enum(['any', 'nine']).default('any'),
  /** The statuses that mean the key. Of the three usual ones, those not listed mean the request. */
  keyRejectedBy: z.array(z.int().min(400).max(499)).default(KEY_STATUSES),
})
export type OpenAICompatibleSettings = z.output<typeof openAICompatibleSettings>
