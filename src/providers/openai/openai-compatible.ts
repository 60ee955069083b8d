import { fieldsOf } from '../../rules/calls/route-fields.ts'
import { fieldsIn } from '../../rules/record.ts'
import { withExtra } from '../extra-body.ts'
import { createReader, FAILURES_OF_THE_MODEL } from './openai-events.ts'
import { requestBodyOf } from './openai-request.ts'
import { KEY_STATUSES, openAICompatibleSettings, type OpenAICompatibleSettings } from './openai-settings.ts'
import type { Provider, UpstreamErrorKind } from '../provider.ts'
import { mustCallTool } from '../reasoning-effort.ts'
import { parseObject, readEvents } from '../read-events.ts'
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
  const url = new URL(`${options.baseUrl.replace(/\/+$/, '')}${settings.path}`)
  for (const [name, value] of Object.entries(settings.query)) url.searchParams.set(name, value)
  const unsupported = new Set<string>(settings.unsupportedFields)
  if (!settings.readsFiles) unsupported.add('files')
  if (!settings.readsAudio) unsupported.add('input_audio')
  const to = { url: url.href, ...refusalsOf(settings) }
  return {
    name: options.name,
    cannotHonour(request) {
      if (!request.tools && mustCallTool(request.tool_choice)) return 'tool_choice'
      return unsupported.size === 0 ? undefined : fieldsOf(request).find((field) => unsupported.has(field))
    },
    stream({ apiKey, timers, onSent, extraBody, ...call }, signal) {
      const headers = { ...settings.headers, ...credentialOf(settings, apiKey) }
      const body = JSON.stringify(withExtra(requestBodyOf(call, settings), extraBody))
      return readEvents(options.transport, { ...to, headers, body, timers, onSent }, createReader(), signal)
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
