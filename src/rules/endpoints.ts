interface CallEndpointFacts {
  path: string
  idPrefix: string
  /** Whether the secret of a browser session, which anybody may read in a page, can ask it. */
  isForBrowsers: boolean
}

/** The endpoints whose requests are calls: where each answers, and what the ids of its answers begin with. */
export const CALL_ENDPOINTS = {
  chat: { path: '/v1/chat/completions', idPrefix: 'chatcmpl-', isForBrowsers: true },
  responses: { path: '/v1/responses', idPrefix: 'resp_', isForBrowsers: true },
  embeddings: { path: '/v1/embeddings', idPrefix: 'embd-', isForBrowsers: true },
} as const satisfies Record<string, CallEndpointFacts>

/** Where the secret of a browser session can make calls. */
export function browserPathsOf(endpoints: Record<string, CallEndpointFacts>): string[] {
  return Object.values(endpoints).flatMap(({ path, isForBrowsers }) => (isForBrowsers ? [path] : []))
}

export type CallEndpointName = keyof typeof CALL_ENDPOINTS

export const ID_PREFIXES: readonly string[] = Object.values(CALL_ENDPOINTS).map(({ idPrefix }) => idPrefix)

/** For sentences: `chatcmpl-…, resp_…, embd-…`. */
export const ID_EXAMPLES = ID_PREFIXES.map((prefix) => `${prefix}…`).join(', ')

/** All that the gateway answers, as its router has it, by its methods. */
export const ROUTES = {
  POST: [
    ...Object.values(CALL_ENDPOINTS).map(({ path }) => path),
    '/v1/sessions',
    '/v1/conversions',
    '/w/:token/report',
  ],
  'GET, HEAD': [
    '/v1/models',
    '/v1/models/*',
    '/v1/credits',
    '/v1/receipts/:id',
    '/openapi.json',
    '/r/:token',
    '/w/:token',
  ],
} as const

/** Returns the methods that a known path answers to, for telling 405 from 404. */
export function methodsOf(path: string): keyof typeof ROUTES | undefined {
  return PATTERNS.find(({ pattern }) => pattern.test(path))?.methods
}

const PATTERNS = (Object.keys(ROUTES) as (keyof typeof ROUTES)[]).flatMap((methods) =>
  ROUTES[methods].map((route) => {
    const pattern = new RegExp(`^${route.replace('.', '\\.').replace(/:\w+/, '[^/]+').replace('*', '.+')}$`)
    return { methods, pattern }
  }),
)

/** As it is stored with a call. Nothing, of a call from before there was another, and a name that is not known here: chat. */
export function endpointOf(stored: string | null | undefined): CallEndpointName {
  return stored != null && Object.hasOwn(CALL_ENDPOINTS, stored) ? (stored as CallEndpointName) : 'chat'
}
