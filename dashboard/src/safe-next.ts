/** Where to go after signing in. Only a path of this console: an address from a link must not lead anywhere else. */
export function safeNext(next: string | undefined): string {
  if (next === undefined || !next.startsWith('/')) return '/'
  try {
    // Resolved as the browser would: `//evil.example`, `/\evil.example` and tabs in between all leave the origin.
    const { origin, pathname, search, hash } = new URL(next, 'http://console.invalid')
    if (origin !== 'http://console.invalid' || pathname.startsWith('//')) return '/'
    return `${pathname}${search}${hash}`
  } catch {
    return '/'
  }
}
