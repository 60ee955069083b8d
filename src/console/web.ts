import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The built web app: its files, and its first page for every address that is a page of the app. */

export const WEB_ROOT = join(import.meta.dirname, '../../dashboard/dist')

const NOT_BUILT = `<!doctype html><html lang="en"><head><title>Parley</title></head><body>
<h1>The console is not built yet</h1><p>Run <code>npm run build</code> and start Parley again. The API works.</p>
</body></html>`

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ')

export function protectPages(app: FastifyInstance, isHttps: boolean): void {
  const headers = {
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
    ...(isHttps && { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }),
  }
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers)
    done()
  })
}

/** Returns false when there is nothing to serve: it was not built. */
export function serveWeb(app: FastifyInstance, root: string): boolean {
  if (!existsSync(join(root, 'index.html'))) return false
  const digested = join(root, 'assets/')
  void app.register(fastifyStatic, {
    root,
    index: false,
    // One route per file that was built: an address that is none of them goes to the first page or to 404.
    wildcard: false,
    // Compressed copies from the build are sent in place of their files, and public/ fills in these pages at another address.
    preCompressed: true,
    globIgnore: ['**/*.br', '**/*.gz', 'front.html', 'status.html', 'ads.html'],
    cacheControl: false,
    setHeaders: (reply, path) => {
      // The builder writes a digest into the names of what it puts there.
      const isDigested = path.startsWith(digested)
      reply.header('cache-control', isDigested ? 'public, max-age=31536000, immutable' : 'no-cache')
    },
  })
  return true
}

/** A person or browser that goes to a page, as opposed to a program or a script that asks for a file. */
export function isNavigation(request: FastifyRequest): boolean {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  const isOurs = !/^\/(?:api|webhooks|assets)(?:\/|$)/.test(request.url.split('?')[0] ?? '')
  return isRead && isOurs && (request.headers.accept ?? '').includes('text/html')
}

export function sendFirstPage(reply: FastifyReply, root: string): FastifyReply {
  if (!existsSync(join(root, 'index.html')) || !('sendFile' in reply))
    return reply.code(503).header('cache-control', 'no-cache').type('text/html; charset=utf-8').send(NOT_BUILT)
  return reply.code(200).sendFile('index.html')
}
