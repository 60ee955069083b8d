import { createProvider, type ProviderOptions } from './create-provider.ts'
import type { Provider, UpstreamCall } from './provider.ts'
import { EVENT_STREAM, wireHeadersOf, type UpstreamRequest } from './transport.ts'

/** What a provider would be sent for a call. Its credentials are not in it. */
export interface DryRun {
  method: 'POST'
  url: string
  headers: Record<string, string>
  body: unknown
}

/** A provider that says calls in its own words and sends nothing. */
export interface DryProvider extends Pick<Provider, 'cannotHonour'> {
  /** Throws an `UpstreamError` where the call could not even be said. */
  say(call: UpstreamCall): Promise<DryRun>
}

export function createDryProvider(options: ProviderOptions): DryProvider {
  let kept: Kept | undefined
  async function* keep(request: Kept): AsyncGenerator<never> {
    kept = request
    yield* []
  }
  const provider = createProvider(options, {
    events: (request) => keep({ ...request, contentType: EVENT_STREAM }),
    bytes: keep,
    close: () => Promise.resolve(),
  })
  return {
    cannotHonour: provider.cannotHonour,
    async say(call) {
      kept = undefined
      try {
        for await (const _ of provider.stream(call, new AbortController().signal));
      } catch (error) {
        // An answer without a single byte is a broken one. What counts is whether there was a request.
        if (!kept) throw error
      }
      if (!kept) throw new Error(`The provider ${options.name} sends nothing for this request.`)
      return concealed(kept, call.apiKey)
    },
  }
}

type Kept = UpstreamRequest & { contentType: string }

const CONCEALED = '…'
/** What credentials are carried in, by its name. */
const SECRET_NAME = /auth|key|token|secret|signature|credential|cookie|password/i

function concealed({ url, body, ...request }: Kept, apiKey: string | undefined): DryRun {
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
