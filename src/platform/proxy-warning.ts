import type { Log } from './log.ts'

interface ForwardedRequest {
  headers: Record<string, unknown>
  ips?: readonly string[] | undefined
  socket: { remoteAddress?: string | undefined }
}

/**
 * Said once: behind a proxy that is not listed everybody has the same address, and what is limited by address is limited for all
 * of them together.
 */
export function createProxyWarning(log: Log): (request: ForwardedRequest) => void {
  let isSaid = false
  return ({ headers, ips, socket: { remoteAddress: proxy } }) => {
    if (isSaid || headers['x-forwarded-for'] === undefined || ips?.length !== 1) return
    isSaid = true
    log.warn({ proxy }, 'X-Forwarded-For is ignored: PARLEY_TRUSTED_PROXIES does not list who sent it')
  }
}
