import { createAnthropic } from './anthropic/anthropic.ts'
import { createBedrock } from './bedrock/bedrock.ts'
import { createGemini } from './gemini/gemini.ts'
import { createOpenAICompatible } from './openai/openai-compatible.ts'
import type { Provider } from './provider.ts'
import type { Transport } from './transport.ts'
import { createVertex } from './gemini/vertex.ts'

export interface ProviderOptions {
  kind: string
  name: string
  baseUrl: string
  /** Whatever else this kind of provider needs to know, as the operator gave it. */
  settings: unknown
}

/** By wire format. A new one is one new file and one new line. */
const CREATE = {
  'openai-compatible': createOpenAICompatible,
  anthropic: createAnthropic,
  gemini: createGemini,
  bedrock: createBedrock,
  vertex: createVertex,
} satisfies Record<string, (options: ProviderOptions & { transport: Transport }) => Provider>

export type ProviderKind = keyof typeof CREATE
export const PROVIDER_KINDS = Object.keys(CREATE) as [ProviderKind, ...ProviderKind[]]

/** Throws when there is no such kind, or when it does not take these settings. */
export function createProvider(options: ProviderOptions, transport: Transport): Provider {
  if (!Object.hasOwn(CREATE, options.kind)) throw new Error(`There is no provider kind "${options.kind}".`)
  return CREATE[options.kind as ProviderKind]({ ...options, transport })
}
