/** Embeddings in the wire formats that have them. They refuse what the real ones do, so that an adapter cannot get away with it here. */
import type { Answer, ChatRequest, Dialect, StreamEvent } from './dialect.ts'
import { gemini } from './gemini.ts'
import { assertNamesKnown } from './gemini-generation.ts'
import { openai } from './openai.ts'
import { isRecord } from './record.ts'
import { Refusal } from './refusal.ts'
import { base64Of, type EmbeddingInput } from './vectors.ts'

export const openaiEmbeddings: Dialect = {
  ...openai,
  idPrefix: 'embd-sim-',
  serves: (method, path) => method === 'POST' && path === '/v1/embeddings',
  read: readOpenAI,
  caching: () => undefined,
  json: openaiBody,
  events: noEvents,
}

export const geminiEmbeddings: Dialect = {
  ...gemini,
  idPrefix: 'gemini-embd-sim-',
  serves: (method, path) => method === 'POST' && METHOD.test(path),
  read: readGemini,
  caching: () => undefined,
  json: geminiBody,
  events: noEvents,
}

const INPUTS_MAX = 2_048
const FIELDS = new Set(['model', 'input', 'encoding_format', 'dimensions', 'user'])

function readOpenAI(body: unknown): ChatRequest {
  if (!isRecord(body)) throw new Refusal(400, 'the body must be a JSON object')
  for (const field of Object.keys(body)) require(FIELDS.has(field), `Unrecognized request argument supplied: ${field}`)
  const { model, input, encoding_format: format = 'float', dimensions } = body
  if (typeof model !== 'string' || model === '') throw new Refusal(400, 'you must provide a model parameter')
  require(format === 'float' || format === 'base64', "'encoding_format' must be float or base64")
  const inputs = typeof input === 'string' || isTokens(input) ? [input] : input
  if (!Array.isArray(inputs) || inputs.length === 0 || inputs.length > INPUTS_MAX || !inputs.every(isInput))
    throw new Refusal(400, "'$.input' is invalid. Please check the API reference.")
  return requestOf(model, inputs, dimensions, format === 'base64')
}

function isTokens(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every(Number.isInteger)
}

function isInput(value: unknown): value is EmbeddingInput {
  return (typeof value === 'string' && value !== '') || isTokens(value)
}

function require(isTrue: boolean, message: string): void {
  if (!isTrue) throw new Refusal(400, message)
}

function requestOf(
  model: string,
  inputs: readonly EmbeddingInput[],
  dimensions: unknown,
  isBase64: boolean,
): ChatRequest {
  if (dimensions !== undefined && !(Number.isInteger(dimensions) && Number(dimensions) > 0))
    throw new Refusal(400, 'the dimensions must be a positive integer')
  return {
    model,
    stream: false,
    wantsUsage: true,
    tokensMax: undefined,
    messages: inputs.map((input) => ({ role: 'user', text: typeof input === 'string' ? input : '' })),
    tools: [],
    vectors: { inputs, dimensions: dimensions === undefined ? undefined : Number(dimensions), isBase64 },
  }
}

function openaiBody({ model, vectors = [], isBase64, usage }: Answer): unknown {
  return {
    object: 'list',
    data: vectors.map((vector, index) => {
      return { object: 'embedding', index, embedding: isBase64 ? base64Of(vector) : vector }
    }),
    model,
    ...(usage && { usage: { prompt_tokens: usage.prompt, total_tokens: usage.total } }),
  }
}

const METHOD = /^\/v1beta\/(models\/([^/:]+)):batchEmbedContents$/
const BATCH_MAX = 100
const REQUEST_FIELDS = new Set(['model', 'content', 'taskType', 'title', 'outputDimensionality'])

function readGemini(body: unknown, url: string): ChatRequest {
  const [, path = '', name = ''] = METHOD.exec(url.split('?', 1)[0] ?? '') ?? []
  if (!isRecord(body) || !Array.isArray(body.requests) || body.requests.length === 0)
    throw new Refusal(400, 'Invalid JSON payload received.')
  assertNamesKnown(body, new Set(['requests']))
  require(body.requests.length <= BATCH_MAX, 'at most 100 requests can be in one batch')
  const requests = body.requests.map((request: unknown) => {
    if (!isRecord(request)) throw new Refusal(400, 'Invalid value at requests')
    assertNamesKnown(request, REQUEST_FIELDS)
    require(request.model === path, 'the model of a request must be that of the batch')
    return { text: textIn(request.content), dimensions: request.outputDimensionality }
  })
  const texts = requests.map(({ text }) => text)
  return requestOf(decodeURIComponent(name), texts, requests[0]?.dimensions, false)
}

function textIn(content: unknown): string {
  const parts: unknown[] = isRecord(content) && Array.isArray(content.parts) ? content.parts : []
  const text = parts.map((part) => (isRecord(part) && typeof part.text === 'string' ? part.text : '')).join('')
  require(text !== '', 'The text content is empty.')
  return text
}

/** It says nothing of tokens. */
function geminiBody({ vectors = [] }: Answer): unknown {
  return { embeddings: vectors.map((values) => ({ values })) }
}

function noEvents(): StreamEvent[] {
  throw new Refusal(400, 'embeddings are not streamed')
}
