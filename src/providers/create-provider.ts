import { createOpenAICompatible } from './openai-compatible.ts'
import type { Provider } from './provider.ts'
import type { Transport } from './transport.ts'

export interface ProviderOptions {
  kind: string
  name: string
  baseUrl: string
  /** Whatever else this kind of provider needs to know, as the operator gave it. */
  settings: unknown
}

/** A new wire format is one new file and one new case. */
export function createProvider(options: ProviderOptions, transport: Transport): Provider {
  switch (options.kind) {
    case 'openai-compatible':
      return createOpenAICompatible({ ...options, transport })
    default:
      throw new Error(`There is no provider kind "${options.kind}".`)
  }
}
