/** Pages that may use a browser session, by the header `Origin`, which no script of a page can set or change. */

export interface AllowedOrigins {
  /** The project's verified domain. */
  domain: string
  /** Narrows it to these, of which each may have a port of its own. Null: all of the domain, without a port. */
  origins: readonly string[] | null
}

/**
 * A name as DNS has it, or an address in brackets. Whatever else a browser could write is not on anybody's domain. Reading a
 * long name that is not in ASCII, or percent-encoded, takes time that grows with its square, and anybody can send one.
 */
const WRITTEN = /^https:\/\/(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/

/**
 * Undefined: it is not an https origin, letter by letter as browsers write it. So whatever has another case, a path, a port that
 * need not be said or a dot at its end is none: nothing has to be guessed about it.
 */
export function httpsOriginOf(text: string | undefined): URL | undefined {
  if (text === undefined || !WRITTEN.test(text)) return undefined
  const url = URL.parse(text)
  return url?.protocol === 'https:' && url.origin === text && !url.hostname.endsWith('.') ? url : undefined
}

/** The domain itself, or below it. */
export function isOnDomain({ hostname }: URL, domain: string): boolean {
  return hostname === domain || hostname.endsWith(`.${domain}`)
}

export function isOriginAllowed(text: string | undefined, { domain, origins }: AllowedOrigins): boolean {
  const origin = httpsOriginOf(text)
  if (!origin || !isOnDomain(origin, domain)) return false
  return origins === null ? origin.port === '' : origins.includes(origin.origin)
}

/** Why an origin is not allowed, for the developer of the page. */
export function sentenceOfOrigin(text: string | undefined, { domain, origins }: AllowedOrigins): string {
  const origin = httpsOriginOf(text)
  if (text === undefined)
    return `This secret works in browsers only: the header Origin is missing. It may be used on https pages of ${domain}.`
  if (!origin) return `This secret may be used on https pages of ${domain} only, and the header Origin names none.`
  if (!isOnDomain(origin, domain))
    return `${origin.origin} is not on ${domain}, the verified domain of this project, so it may not use this secret.`
  if (origins === null)
    return `${origin.origin} has a port: list it in origins when you make the session, and it may use the secret.`
  return `${origin.origin} is not among the origins that this session was made for.`
}
