import { z } from 'zod'
import {
  filesOf,
  imageUrlsOf,
  inlineDataOf,
  type ChatRequest,
  type OptionalField,
} from '../rules/calls/chat-request.ts'
import { EVENT_BYTES_MAX } from '../rules/limits.ts'
import { inlineImageOf } from './ai-sdk-request.ts'
import { streamThrough } from './ai-sdk.ts'
import { BEDROCK_ENDINGS } from './endings.ts'
import { UpstreamError, type Provider, type UpstreamErrorKind } from './provider.ts'
import { endsStep, nextStep, type Transport } from './transport.ts'

export interface BedrockOptions {
  name: string
  /** `https://bedrock-runtime.REGION.amazonaws.com` */
  baseUrl: string
  settings: unknown
  transport: Transport
}

const bedrockSettings = z.strictObject({
  /** Needed where the host does not tell it. */
  region: z
    .string()
    .regex(/^[a-z0-9-]+$/)
    .optional(),
})

/** Amazon Bedrock by its Converse API, which is the same for the models of every maker. */
export function createBedrock({ name, baseUrl, settings, transport }: BedrockOptions): Provider {
  const region = bedrockSettings.parse(settings ?? {}).region ?? regionIn(baseUrl)
  if (region === undefined) throw new Error('Bedrock needs settings.region: the base URL does not tell it.')
  const baseURL = baseUrl.replace(/\/+$/, '')
  return {
    name,
    cannotHonour,
    stream(call, signal) {
      return streamThrough(
        {
          transport,
          call,
          contentType: 'application/vnd.amazon.eventstream',
          async modelWith(fetch) {
            const credentials = credentialsIn(call.apiKey)
            const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock')
            return createAmazonBedrock({ ...credentials, region, baseURL, fetch })(call.upstreamModel)
          },
          piecesIn: framesIn,
          kindOfRefusal,
          endings: BEDROCK_ENDINGS,
        },
        signal,
      )
    },
  }
}

function regionIn(baseUrl: string): string | undefined {
  return /(?:^|[./])bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\./.exec(baseUrl)?.[1]
}

/**
 * A Bedrock API key, or ACCESS_KEY_ID:SECRET_ACCESS_KEY[:SESSION_TOKEN]; neither kind contains a colon itself. All
 * fields are given, because the package looks for absent ones in the environment, where somebody else's may be.
 */
function credentialsIn(apiKey: string | undefined) {
  const [first, secretAccessKey, sessionToken, ...rest] = (apiKey ?? '').split(':')
  if (!first || rest.length > 0) throw new UpstreamError('key_rejected')
  if (secretAccessKey === undefined) return { apiKey: first }
  if (!secretAccessKey) throw new UpstreamError('key_rejected')
  return { apiKey: '', accessKeyId: first, secretAccessKey, sessionToken }
}

const IMAGE_TYPES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

/** A field at the value that it has anyway asks for nothing and is honoured. */
export function cannotHonour(request: ChatRequest): OptionalField | undefined {
  // OpenAI's scale ends at 2, this one at 1: a clamped temperature would be another one than was asked for.
  if (request.temperature !== undefined && request.temperature > 1) return 'temperature'
  if (request.seed !== undefined) return 'seed'
  if (request.presence_penalty) return 'presence_penalty'
  if (request.frequency_penalty) return 'frequency_penalty'
  if (Object.values(request.logit_bias ?? {}).some((bias) => bias !== 0)) return 'logit_bias'
  if (request.user !== undefined) return 'user'
  if (!isFormatHonoured(request)) return 'response_format'
  // Calls of tools that are no longer offered are refused there.
  if (!request.tools && hasToolTurns(request)) return 'tools'
  if (!isChoiceHonoured(request)) return 'tool_choice'
  if (!imageUrlsOf(request).every(isImageHonoured)) return 'images'
  return filesOf(request).every(({ file }) => isPdf(file.file_data)) ? undefined : 'files'
}

/** A schema is held to by a tool that the model must call, so it leaves no room for the caller's tools. */
function isFormatHonoured({ response_format: format, tools }: ChatRequest): boolean {
  if (format === undefined || format.type === 'text') return true
  const schema = format.json_schema?.schema
  return format.type === 'json_schema' && typeof schema === 'object' && schema !== null && !tools
}

/** There is no "none": tools are left out instead, which cannot be where the conversation has used them. */
function isChoiceHonoured(request: ChatRequest): boolean {
  const choice = request.tool_choice
  if (choice === undefined || choice === 'auto') return true
  return choice === 'none' ? !hasToolTurns(request) : request.tools !== undefined
}

function hasToolTurns({ messages }: ChatRequest): boolean {
  return messages.some((m) => m.role === 'tool' || (m.role === 'assistant' && m.tool_calls !== undefined))
}

function isImageHonoured(url: string): boolean {
  return IMAGE_TYPES.has(inlineImageOf(url)?.mediaType ?? '')
}

function isPdf(url: string): boolean {
  return inlineDataOf(url)?.mediaType === 'application/pdf'
}

/** A model that fails or takes too long is told with a 4xx here. */
function kindOfRefusal(status: number): UpstreamErrorKind | undefined {
  return status === 408 || status === 424 ? 'server_error' : undefined
}

/** Two lengths and their checksum, no headers, no payload, and the checksum of it all. */
const FRAME_BYTES_MIN = 16

/**
 * Cuts a body into the frames of AWS's event stream: each begins with its length in four bytes. The package would join
 * what comes again and again until a frame is complete, however long it says it is.
 */
export async function* framesIn(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let waitingBytes = 0
  let wantedBytes = FRAME_BYTES_MIN
  for await (const bytes of body) {
    waiting.push(bytes)
    waitingBytes += bytes.length
    if (waitingBytes < wantedBytes) continue
    let joined = waiting.length === 1 ? bytes : Buffer.concat(waiting)
    wantedBytes = FRAME_BYTES_MIN
    for (let n = 0; joined.length >= FRAME_BYTES_MIN; n++) {
      const frameBytes = joined.readUInt32BE(0)
      if (frameBytes < FRAME_BYTES_MIN) throw new UpstreamError('bad_event')
      if (frameBytes > EVENT_BYTES_MAX) throw new UpstreamError('event_too_big')
      wantedBytes = frameBytes
      if (joined.length < frameBytes) break
      if (endsStep(n)) await nextStep()
      yield joined.subarray(0, frameBytes)
      joined = joined.subarray(frameBytes)
      wantedBytes = FRAME_BYTES_MIN
    }
    waiting = joined.length === 0 ? [] : [joined]
    waitingBytes = joined.length
  }
  if (waitingBytes > 0) throw new UpstreamError('truncated')
}
