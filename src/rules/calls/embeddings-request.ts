import { z } from 'zod'
import { ParleyError } from '../errors.ts'
import { EMBEDDING_INPUTS_MAX, EMBEDDING_TOKENS_MAX, VECTOR_DIMENSIONS_MAX } from '../limits.ts'
import { requestErrorOf } from './request-errors.ts'
import type { EmbeddingField } from './route-fields.ts'
import { vectorCharacters } from './vectors.ts'

/**
 * The fields of a request to turn texts into vectors. As for chat, a wrong value is refused by its name, and unknown names
 * are ignored.
 */

const body = z.object({
  model: z.string().min(1, 'must not be empty'),
  /** Checked by hand: there may be as many numbers in it as tokens, for each of which a schema takes ten times as long. */
  input: z.unknown().optional(),
  encoding_format: z.enum(['float', 'base64']).optional(),
  dimensions: z.int().min(1).max(VECTOR_DIMENSIONS_MAX).optional(),
})

export { body as embeddingsBody }
/** Read elsewhere, and never a reason to refuse a call. */
const CONSUMED_FIELDS = ['user', 'safety_identifier', 'metadata']
export const KNOWN_EMBEDDING_FIELDS: ReadonlySet<string> = new Set([...Object.keys(body.shape), ...CONSUMED_FIELDS])

/** Texts, or what the model's own tokenizer made of each: never both in one request. */
export type EmbeddingInputs = readonly string[] | readonly (readonly number[])[]

export interface EmbeddingsRequest {
  model: string
  /** At least one, and none is empty. */
  inputs: EmbeddingInputs
  /** It was sent as one input and not as a list, which matters for the names of fields alone. */
  isSingle: boolean
  format: 'float' | 'base64'
  /** Undefined: as long as the model makes them. */
  dimensions: number | undefined
}

export function parseEmbeddingsRequest(value: unknown): EmbeddingsRequest {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ParleyError('invalid_request', { message: 'The body must be a JSON object.' })
  }
  const result = body.safeParse(withoutNulls(value), { reportInput: true })
  if (!result.success) throw requestErrorOf(result.error)
  const { model, input, encoding_format: format = 'float', dimensions } = result.data
  const isSingle = !Array.isArray(input) || typeof input[0] === 'number'
  return { model, inputs: inputsIn(input), isSingle, format, dimensions }
}

/** SDKs write null for "not given". */
function withoutNulls(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([name, field]) => field !== null || REQUIRED.has(name)))
}

const REQUIRED = new Set(['model', 'input'])

function inputsIn(input: unknown): EmbeddingInputs {
  if (input === undefined) throw new ParleyError('invalid_request', { message: 'input is required.', param: 'input' })
  if (typeof input === 'string') return [textAt(input, 'input')]
  if (!Array.isArray(input)) throw wrong('input', 'must be a string, or an array of strings or of token ids')
  if (input.length === 0) throw wrong('input', 'must not be empty')
  if (typeof input[0] === 'number') return withinTokens([tokensAt(input, 'input')])
  if (input.length > EMBEDDING_INPUTS_MAX) throw wrong('input', `must be at most ${EMBEDDING_INPUTS_MAX} items long`)
  if (typeof input[0] === 'string') return input.map((text, n) => textAt(text, `input[${n}]`))
  return withinTokens(input.map((tokens, n) => tokensAt(tokens, `input[${n}]`)))
}

function textAt(text: unknown, path: string): string {
  if (typeof text !== 'string') throw wrong(path, 'must be a string, as the first of input is')
  if (text === '') throw wrong(path, 'must not be an empty string')
  return text
}

/** Larger than any vocabulary. */
const TOKEN_ID_MAX = 2 ** 31 - 1

function tokensAt(tokens: unknown, path: string): number[] {
  if (!Array.isArray(tokens)) throw wrong(path, 'must be a string, or an array of token ids')
  if (tokens.length === 0) throw wrong(path, 'must not be empty')
  for (const [n, id] of tokens.entries()) {
    const isId = Number.isInteger(id) && id >= 0 && id <= TOKEN_ID_MAX
    if (!isId) throw wrong(`${path}[${n}]`, 'must be a token id: an integer from 0')
  }
  return tokens as number[]
}

function withinTokens(inputs: number[][]): number[][] {
  const tokens = inputs.reduce((sum, { length }) => sum + length, 0)
  if (tokens > EMBEDDING_TOKENS_MAX) throw tooManyTokens(String(tokens))
  return inputs
}

export function tooManyTokens(tokens: string): ParleyError {
  const message = `input has ${tokens} tokens, but a request may have at most ${EMBEDDING_TOKENS_MAX}. Send it in several requests.`
  return new ParleyError('prompt_too_long', { message, param: 'input' })
}

function wrong(path: string, sentence: string): ParleyError {
  return new ParleyError('invalid_value', { message: `${path} ${sentence}.`, param: path })
}

/** Returns the name of input number `n` in a refusal. */
export function inputPathOf({ isSingle }: EmbeddingsRequest, n: number): string {
  return isSingle ? 'input' : `input[${n}]`
}

export function areTexts(inputs: EmbeddingInputs): inputs is readonly string[] {
  return typeof inputs[0] === 'string'
}

/** Lists the optional features that a request uses, for choosing deployments that honour them all. */
export function embeddingFieldsOf({ inputs, dimensions }: EmbeddingsRequest): EmbeddingField[] {
  return [
    ...(dimensions === undefined ? [] : (['dimensions'] as const)),
    ...(areTexts(inputs) ? [] : (['token_ids'] as const)),
  ]
}

/** How much memory its answer takes at most. */
export function answerCharactersMax({ inputs, dimensions = VECTOR_DIMENSIONS_MAX }: EmbeddingsRequest): number {
  return inputs.length * vectorCharacters(dimensions)
}
