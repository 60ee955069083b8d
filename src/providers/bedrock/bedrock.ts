import { z } from 'zod'
import { EVENT_BYTES_MAX } from '../../rules/limits.ts'
import { streamThrough } from './ai-sdk.ts'
import { cannotHonour, modelOptionsOf } from './bedrock-request.ts'
import { BEDROCK_ENDINGS } from '../endings.ts'
import { UpstreamError, type Provider, type UpstreamErrorKind } from '../provider.ts'
import type { BodyReader } from '../body-reader.ts'
import type { Transport } from '../transport.ts'

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
          splitter: createFrameSplitter(),
          kindOfRefusal,
          ofModel: modelOptionsOf(call),
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
export function createFrameSplitter(): Pick<BodyReader<Buffer, Buffer>, 'split' | 'splitRest'> {
  let waiting: Buffer[] = []
  let waitingBytes = 0
  let wantedBytes = FRAME_BYTES_MIN
  return {
    split(bytes, frames) {
      waiting.push(bytes)
      waitingBytes += bytes.length
      if (waitingBytes < wantedBytes) return
      let joined = waiting.length === 1 ? bytes : Buffer.concat(waiting)
      wantedBytes = FRAME_BYTES_MIN
      while (joined.length >= FRAME_BYTES_MIN) {
        const frameBytes = joined.readUInt32BE(0)
        if (frameBytes < FRAME_BYTES_MIN) throw new UpstreamError('bad_event')
        if (frameBytes > EVENT_BYTES_MAX) throw new UpstreamError('event_too_big')
        wantedBytes = frameBytes
        if (joined.length < frameBytes) break
        frames.push(joined.subarray(0, frameBytes))
        joined = joined.subarray(frameBytes)
        wantedBytes = FRAME_BYTES_MIN
      }
      waiting = joined.length === 0 ? [] : [joined]
      waitingBytes = joined.length
    },
    splitRest() {
      if (waitingBytes > 0) throw new UpstreamError('truncated')
    },
  }
}
