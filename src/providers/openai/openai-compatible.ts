import { embeddingFieldsOf } from '../../rules/calls/embeddings-request.ts'
import { fieldsOf } from '../../rules/calls/route-fields.ts'
import { fieldsIn } from '../../rules/record.ts'
import { withExtra } from '../extra-body.ts'
import { embeddingsBodyOf, usageOfEmbeddings, wantedOf } from './openai-embeddings.ts'
import { createReader, FAILURES_OF_THE_MODEL } from './openai-events.ts'
import { requestBodyOf } from './openai-request.ts'
import { KEY_STATUSES, openAICompatibleSettings, type OpenAICompatibleSettings } from './openai-settings.ts'
import type { Provider, UpstreamErrorKind } from '../provider.ts'
import { parseObject, readEvents } from '../read-events.ts'
import { chunksOfVectors, readVectors } from '../read-vectors.ts'
import type { Transport } from '../transport.ts'

export interface OpenAICompatibleOptions {
  name: string
  /** Up to and including the version: `https://api.example.com/v1`. */
  baseUrl: string
  /** See `openAICompatibleSettings`; throws when they are none. */
  settings?: unknown
  transport: Transport
}

export function createOpenAICompatible(options: OpenAICompatibleOptions): Provider {
  const settings = openAICompatibleSettings.parse(options.settings ?? {})
  const urlOf = (path: string) => {
    const url = new URL(`${options.baseUrl.replace(/\/+$/, '')}${path}`)
    for (const [name, value] of Object.entries(settings.query)) url.searchParams.set(name, value)
    return url.href
  }
  const unsupported = new Set<string>(settings.unsupportedFields)
  if (!settings.readsFiles) unsupported.add('files')
  if (!settings.readsAudio) unsupported.add('input_audio')
  const to = { url: urlOf(settings.path), ...refusalsOf(settings) }
  const toEmbeddings = { ...to, url: urlOf(settings.embeddingsPath) }
  return {
    name: options.name,
    // A tool that must be called is one that is offered.
    cannotHonour: (request) =>
      fieldsOf(request).find((field) => unsupported.has(field) || (field === 'tool_choice' && !request.tools)),
    stream({ apiKey, timers, onSent, extraBody, ...call }, signal) {
      const headers = { ...settings.headers, ...credentialOf(settings, apiKey) }
      const body = JSON.stringify(withExtra(requestBodyOf(call, settings), extraBody))
      return readEvents(options.transport, { ...to, headers, body, timers, onSent }, createReader(), signal)
    },
    cannotEmbed: (request) => embeddingFieldsOf(request).find((field) => unsupported.has(field)),
    async *embed({ apiKey, timers, onSent, extraBody, ...call }, signal) {
      const headers = { ...settings.headers, ...credentialOf(settings, apiKey) }
      const body = JSON.stringify(withExtra(embeddingsBodyOf(call, settings), extraBody))
      const exchange = { ...toEmbeddings, headers, body, timers, onSent }
      const { vectors, rest } = await readVectors(options.transport, exchange, wantedOf(call), signal)
      yield chunksOfVectors(vectors, usageOfEmbeddings(rest))
    },
  }
}

function credentialOf({ auth }: OpenAICompatibleSettings, apiKey: string | undefined): Record<string, string> {
  if (apiKey === undefined) return {}
  return { [auth.header]: auth.scheme === undefined ? apiKey : `${auth.scheme} ${apiKey}` }
}

function refusalsOf({ keyRejectedBy }: OpenAICompatibleSettings) {
  const ofTheKey = new Set(keyRejectedBy)
  const kindOfRefusal = (status: number, body: string): UpstreamErrorKind | undefined => {
    if (ofTheKey.has(status)) return 'key_rejected'
    if (KEY_STATUSES.includes(status)) return 'rejected'
    return status === 400 && FAILURES_OF_THE_MODEL.has(codeIn(body)) ? 'model_failed' : undefined
  }
  return { kindOfRefusal }
}

function codeIn(body: string): unknown {
  return fieldsIn(parseObject(body)?.error).code
}
