import { ParleyError } from '../errors.ts'
import { contentPartsOf, isPrefilled, stopsOf, type ChatRequest } from './chat-request.ts'
import { inlineDataOf } from './message.ts'

/** The fields that not every route can honour, and whether a request asks for them. */

const OPTIONAL_FIELDS = [
  'temperature',
  'top_p',
  'stop',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'response_format',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning_effort',
  'verbosity',
  'logprobs',
  'top_logprobs',
  'prediction',
] as const satisfies readonly (keyof ChatRequest)[]

/** The features inside of messages and other fields, with the words for them. */
const INNER_FIELDS = {
  images: 'images',
  image_urls: 'image_url with an address (send the image as a data: URL)',
  files: 'files',
  input_audio: 'input_audio',
  json_schema: 'response_format json_schema',
  prefill: 'messages that end with one of the assistant',
}
type InnerField = keyof typeof INNER_FIELDS

export type RouteField = (typeof OPTIONAL_FIELDS)[number] | InnerField
export const ROUTE_FIELDS = [...OPTIONAL_FIELDS, ...(Object.keys(INNER_FIELDS) as InnerField[])] as const

/** No longer one of them, and still to be found in what operators have configured. */
const RETIRED_FIELDS = ['user'] as const

/** The same of a request for embeddings. */
export const EMBEDDING_FIELDS = ['dimensions', 'token_ids'] as const
export type EmbeddingField = (typeof EMBEDDING_FIELDS)[number]

/** The fields that may be configured as not supported. */
export const CONFIGURABLE_FIELDS = [...ROUTE_FIELDS, ...EMBEDDING_FIELDS, ...RETIRED_FIELDS] as const

const WORDS: Partial<Record<RouteField | EmbeddingField, string>> = {
  ...INNER_FIELDS,
  token_ids: 'input of token ids (send the texts themselves)',
}

export function wordsOf(field: string): string {
  return (WORDS as Partial<Record<string, string>>)[field] ?? field
}

/** Returns the error for a field that no route honours. */
export function unsupportedField(field: RouteField | EmbeddingField): ParleyError {
  return new ParleyError('invalid_value', {
    message: `${wordsOf(field)} is not supported by this model.`,
    param: field === 'token_ids' ? 'input' : field,
  })
}

/** Lists the optional features that a request uses, for choosing deployments that honour them all. */
export function fieldsOf(request: ChatRequest): RouteField[] {
  const used: RouteField[] = OPTIONAL_FIELDS.filter((field) => request[field] !== undefined && !isNoOp(field, request))
  const parts = contentPartsOf(request)
  const has = (type: string) => parts.some((part) => part.type === type)
  if (has('image_url')) used.push('images')
  if (parts.some((part) => part.type === 'image_url' && !inlineDataOf(part.image_url.url))) used.push('image_urls')
  if (has('file')) used.push('files')
  if (has('input_audio')) used.push('input_audio')
  if (request.response_format?.type === 'json_schema') used.push('json_schema')
  if (isPrefilled(request)) used.push('prefill')
  return used
}

/** A field at the value that it has anyway asks for nothing: SDKs send such values, and some models refuse their fields. */
function isNoOp(field: RouteField, request: ChatRequest): boolean {
  switch (field) {
    case 'temperature':
    case 'top_p':
      return request[field] === 1
    case 'presence_penalty':
    case 'frequency_penalty':
      return request[field] === 0
    case 'logit_bias':
      return Object.values(request.logit_bias ?? {}).every((bias) => bias === 0)
    case 'stop':
      return stopsOf(request).length === 0
    case 'response_format':
      return request.response_format?.type === 'text'
    case 'tool_choice':
      return request.tool_choice === 'auto' || (request.tool_choice === 'none' && !request.tools)
    case 'parallel_tool_calls':
      return request.parallel_tool_calls === true || !request.tools
    case 'verbosity':
      return request.verbosity === 'medium'
    case 'logprobs':
      return request.logprobs === false
    default:
      return false
  }
}
