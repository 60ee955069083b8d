import {
  contentPartsOf,
  filesOf,
  imageUrlsOf,
  isJsonAsked,
  isPrefilled,
  mustCallTool,
  stopsOf,
  type ChatRequest,
} from '../../rules/calls/chat-request.ts'
import { isInstruction } from '../../rules/calls/message.ts'
import { fieldsOf, type RouteField } from '../../rules/calls/route-fields.ts'
import { contentsOf, imagePartOf, isFileRead, textPartsOf, type TurnOptions } from './gemini-turns.ts'
import { mapSchema, type Schema } from '../json-schema.ts'
import { UpstreamError } from '../provider.ts'
import { geminiTakesPenalties, geminiThinkingOf, isGemini3 } from './gemini-models.ts'

/** How a chat request is said in Google's words. Vertex AI takes the same bodies at other addresses. */

export interface BodyOptions extends TurnOptions {
  safetySettings?: readonly SafetySetting[] | undefined
}

export interface SafetySetting {
  category: string
  threshold: string
}

/** Theirs has 32 bits, ours 53. */
const SEED_MAX = 2 ** 31 - 1

export function requestBodyOf(request: ChatRequest, options: BodyOptions): Record<string, unknown> {
  const system = request.messages.filter(isInstruction).flatMap(({ content }) => textPartsOf(content))
  const contents = contentsOf(request, options)
  // There is no answer to a system instruction alone, so then it is said as the user's words.
  const isSystemOnly = contents.length === 0
  if (isSystemOnly && system.length === 0) throw new UpstreamError('rejected')
  return {
    contents: isSystemOnly ? [{ role: 'user', parts: system }] : contents,
    systemInstruction: isSystemOnly || system.length === 0 ? undefined : { parts: system },
    tools: request.tools && [{ functionDeclarations: request.tools.map(declarationOf) }],
    toolConfig: request.tools && toolConfigOf(request),
    generationConfig: unlessEmpty(generationConfigOf(request, options)),
    safetySettings: options.safetySettings,
  }
}

/** This wire format has no place for them. */
const WITHOUT_PLACE: ReadonlySet<RouteField> = new Set([
  'logit_bias',
  'parallel_tool_calls',
  'verbosity',
  'logprobs',
  'top_logprobs',
  'prediction',
])

/** An operator's settings for its models. */
export interface Reading {
  /** Google asks more for sound than for text, and a model has one price. */
  readsAudio: boolean
}

export function cannotHonour(
  request: ChatRequest,
  upstreamModel: string,
  { readsAudio }: Reading,
): RouteField | undefined {
  const used = fieldsOf(request)
  if (!readsAudio && used.includes('input_audio')) return 'input_audio'
  const takesPenalties = geminiTakesPenalties(upstreamModel)
  const refused = used.find((field) => WITHOUT_PLACE.has(field) || (field.endsWith('_penalty') && !takesPenalties))
  if (refused) return refused
  if (request.reasoning_effort && !geminiThinkingOf(upstreamModel, request.reasoning_effort)) return 'reasoning_effort'
  // Older models write either JSON or calls of functions.
  if (request.tools && isJsonAsked(request) && !isGemini3(upstreamModel)) return 'response_format'
  if (isPrefilled(request) && isGemini3(upstreamModel)) return 'prefill'
  if (Math.abs(request.seed ?? 0) > SEED_MAX) return 'seed'
  if (!request.tools && mustCallTool(request)) return 'tool_choice'
  if (imageUrlsOf(request).some((url) => imagePartOf(url) === undefined)) return 'images'
  return filesOf(request).every(isFileRead) ? undefined : 'files'
}

type Tool = NonNullable<ChatRequest['tools']>[number]

function declarationOf({ function: { name, description, parameters } }: Tool): Record<string, unknown> {
  // An empty schema says nothing, not even that it is one of an object.
  const isEmpty = Object.keys(parameters ?? {}).length === 0
  return { name, description, parametersJsonSchema: isEmpty ? undefined : mapSchema(parameters, withoutConst) }
}

function toolConfigOf({ tools, tool_choice: choice }: ChatRequest): Record<string, unknown> {
  if (typeof choice === 'object') {
    return { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [choice.function.name] } }
  }
  if (choice === 'none') return { functionCallingConfig: { mode: 'NONE' } }
  if (choice === 'required') return { functionCallingConfig: { mode: 'ANY' } }
  // ANY keeps to the schemas by itself; VALIDATED is AUTO that does.
  const isStrict = tools?.some((tool) => tool.function.strict === true) ?? false
  return { functionCallingConfig: { mode: isStrict ? 'VALIDATED' : 'AUTO' } }
}

function generationConfigOf(request: ChatRequest, { upstreamModel }: BodyOptions): Record<string, unknown> {
  const { reasoning_effort: effort } = request
  const stops = stopsOf(request)
  const format = request.response_format
  const schema = format?.type === 'json_schema' ? format.json_schema?.schema : undefined
  return {
    temperature: request.temperature,
    topP: request.top_p,
    maxOutputTokens: request.max_tokens,
    stopSequences: stops.length === 0 ? undefined : stops,
    seed: request.seed,
    // Zero asks for nothing, and newer models refuse the field.
    presencePenalty: request.presence_penalty || undefined,
    frequencyPenalty: request.frequency_penalty || undefined,
    responseMimeType: isJsonAsked(request) ? 'application/json' : undefined,
    responseJsonSchema: mapSchema(schema, withoutConst),
    thinkingConfig: effort && unlessEmpty(geminiThinkingOf(upstreamModel, effort)),
    mediaResolution: mediaResolutionOf(request),
  }
}

function unlessEmpty<Fields extends object>(fields: Fields | undefined): Fields | undefined {
  return Object.values(fields ?? {}).some((value) => value !== undefined) ? fields : undefined
}

/** One for all images there: the finest that any of them asks for. */
function mediaResolutionOf(request: ChatRequest): string | undefined {
  const images = contentPartsOf(request).flatMap((part) => (part.type === 'image_url' ? [part.image_url] : []))
  if (images.some(({ detail }) => detail === 'high')) return 'MEDIA_RESOLUTION_HIGH'
  if (images.length > 0 && images.every(({ detail }) => detail === 'low')) return 'MEDIA_RESOLUTION_LOW'
  return undefined
}

/** They know `enum` but not `const`, which is an `enum` of one. */
function withoutConst({ const: only, ...rest }: Schema): Schema {
  return only === undefined ? rest : { ...rest, enum: [only] }
}
