import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'

/** A text that is the same for everybody: made and encoded when it is first asked for, and known again by its tag. */
export interface CachedText {
  /** For a request with these headers. */
  answerFor(headers: { 'accept-encoding'?: string | string[] | undefined; 'if-none-match'?: string | undefined }): {
    status: 200 | 304
    headers: Record<string, string>
    body: Buffer | undefined
  }
}

const KEPT_SECONDS = 600

export function createCachedText(write: () => string, contentType: string): CachedText {
  let encoded: ReturnType<typeof encode> | undefined
  return {
    answerFor({ 'accept-encoding': accepted = '', 'if-none-match': known }) {
      encoded ??= encode(write())
      const { plain, gzip, digest } = encoded
      const isGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|\s|$))/i.test(String(accepted))
      const etag = `"${digest}${isGzip ? '-gzip' : ''}"`
      const headers = {
        etag,
        vary: 'accept-encoding',
        'cache-control': `public, max-age=${KEPT_SECONDS}`,
        'content-type': contentType,
        ...(isGzip && { 'content-encoding': 'gzip' }),
      }
      if (known === etag) return { status: 304, headers, body: undefined }
      return { status: 200, headers, body: isGzip ? gzip : plain }
    },
  }
}

function encode(text: string) {
  const plain = Buffer.from(text)
  const digest = createHash('sha256').update(plain).digest('base64url').slice(0, 27)
  return { plain, gzip: gzipSync(plain, { level: 9 }), digest }
}
