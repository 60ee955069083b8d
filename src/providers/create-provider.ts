import { ZodError } from 'zod'
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
  /** Everything else that this kind of provider needs to know, as the operator gave it. */
  settings: unknown
}

/** By wire format. A new one is a folder and a line here: CONTRIBUTING.md says what else goes with it. */
const CREATE = {
  'openai-compatible': createOpenAICompatible,
  anthropic: createAnthropic,
  gemini: createGemini,
  bedrock: createBedrock,
  vertex: createVertex,
} satisfies Record<string, (options: ProviderOptions & { transport: Transport }) => Provider>

export type ProviderKind = keyof typeof CREATE
export const PROVIDER_KINDS = Object.keys(CREATE) as [ProviderKind, ...ProviderKind[]]

/** Kinds whose wire format has embeddings. */
export const EMBEDDING_KINDS: ReadonlySet<string> = new Set<ProviderKind>(['openai-compatible', 'gemini'])

/** Throws when there is no such kind, or when it does not take these settings: for whoever writes them. */
export function createProvider(options: ProviderOptions, transport: Transport): Provider {
  if (!Object.hasOwn(CREATE, options.kind)) throw new Error(`There is no provider kind "${options.kind}".`)
  return CREATE[options.kind as ProviderKind]({ ...options, transport })
}

export interface KnownProvider {
  provider: Provider
  /** Settings that this version does not know and that were left out, such as `auth.realm`. */
  ignored: string[]
}

/**
 * For settings that were stored by whichever version. What a newer one added is left out, so that the gateways of this one
 * go on answering while both run. A value that this version cannot read stays an error.
 */
export function createKnownProvider(options: ProviderOptions, transport: Transport): KnownProvider {
  try {
    return { provider: createProvider(options, transport), ignored: [] }
  } catch (error) {
    const unknown = unknownSettingsIn(error)
    if (unknown.length === 0) throw error
    const settings = withoutSettings(options.settings, unknown)
    return {
      provider: createProvider({ ...options, settings }, transport),
      ignored: unknown.map((path) => path.join('.')),
    }
  }
}

type SettingPath = readonly PropertyKey[]

function unknownSettingsIn(error: unknown): SettingPath[] {
  if (!(error instanceof ZodError)) return []
  return error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [],
  )
}

function withoutSettings(settings: unknown, paths: readonly SettingPath[]): unknown {
  const copy: unknown = structuredClone(settings)
  for (const path of paths) {
    const owner = path.slice(0, -1).reduce<unknown>((value, key) => Reflect.get(Object(value), key), copy)
    Reflect.deleteProperty(Object(owner), path.at(-1) ?? '')
  }
  return copy
}
