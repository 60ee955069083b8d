import { createKnownProvider, type ProviderOptions } from './create-provider.ts'
import type { Chunk } from '../rules/calls/chunk.ts'
import type { EmbedCall, Provider, UpstreamCall } from './provider.ts'
import { wireHeadersOf, type UpstreamRequest } from './upstream-request.ts'

/** The request that a provider would be sent for a call. Its credentials are not in it. */
export interface DryRun {
  method: 'POST'
  url: string
  headers: Record<string, string>
  body: unknown
}

/** A provider that says calls in its own words and sends nothing. */
export interface DryProvider extends Pick<Provider, 'cannotHonour' | 'cannotEmbed'> {
  /** Throws an `UpstreamError` where the call could not even be said. */
  say(call: UpstreamCall): Promise<DryRun>
  /** The same for embeddings, if its wire format has them: the first request, where it takes several. */
  sayEmbed: ((call: EmbedCall) => Promise<DryRun>) | undefined
}

export function createDryProvider(options: ProviderOptions): DryProvider {
  let kept: UpstreamRequest | undefined
  async function* keep(request: UpstreamRequest): AsyncGenerator<never> {
    kept = request
    yield* []
  }
  const { provider } = createKnownProvider(options, {
    exchange: keep,
    close: () => Promise.resolve(),
  })
  async function keptOf(answer: () => AsyncIterable<readonly Chunk[]>, apiKey: string | undefined): Promise<DryRun> {
    kept = undefined
    try {
      for await (const _ of answer());
    } catch (error) {
      // An answer without a single byte is a broken one. What counts is whether there was a request.
      if (!kept) throw error
    }
    if (!kept) throw new Error(`The provider ${options.name} sends nothing for this request.`)
    return concealed(kept, apiKey)
  }
  const { signal } = new AbortController()
  const embed = provider.embed?.bind(provider)
  return {
    cannotHonour: provider.cannotHonour,
    cannotEmbed: provider.cannotEmbed,
    say: (call) => keptOf(() => provider.stream(call, signal), call.apiKey),
    sayEmbed: embed && ((call) => keptOf(() => embed(call, signal), call.apiKey)),
  }
}

const CONCEALED = '…'
/** The names of headers and parameters that carry credentials. */
const SECRET_NAME = /auth|key|token|secret|signature|credential|cookie|password/i

function concealed({ url, body, ...request }: UpstreamRequest, apiKey: string | undefined): DryRun {
  const conceal = concealerOf(apiKey)
  const isSecret = (name: string, value: string) => SECRET_NAME.test(name) || (apiKey && value.includes(apiKey))
  const headers = Object.entries(wireHeadersOf(request)).map(([name, value]) => {
    return [name, isSecret(name, value) ? CONCEALED : conceal(value)] as const
  })
  return {
    method: 'POST',
    url: conceal(withoutCredentials(url)),
    headers: Object.fromEntries(headers),
    body: JSON.parse(conceal(body)),
  }
}

function withoutCredentials(url: string): string {
  return url
    .replace(/(?<=:\/\/)[^/?#]*@/, `${CONCEALED}@`)
    .replaceAll(/(?<=[?&])([^=&]*)=[^&]*/g, (pair, name: string) =>
      SECRET_NAME.test(name) ? `${name}=${CONCEALED}` : pair,
    )
}

/** Shorter ones are no keys, and would be found in the middle of words. */
const SECRET_CHARACTERS_MIN = 8

/** Takes a key out wherever else an operator may have written it. One of AWS is two or three that are joined. */
function concealerOf(apiKey = ''): (text: string) => string {
  const parts = [apiKey, ...apiKey.split(':')].filter(({ length }) => length >= SECRET_CHARACTERS_MIN)
  const written = parts.flatMap((part) => [part, JSON.stringify(part).slice(1, -1), encodeURIComponent(part)])
  return (text) => written.reduce((rest, secret) => rest.replaceAll(secret, CONCEALED), text)
}
