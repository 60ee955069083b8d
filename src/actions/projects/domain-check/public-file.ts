import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { connect, type TLSSocket } from 'node:tls'
import { isPublicAddress } from '../../../rules/accounts/addresses.ts'
import { domainNameOf, type FileRefusal } from '../../../rules/projects/domains.ts'
import type { DomainResolver } from './resolver.ts'

/**
 * Fetches a small text file from a name that a stranger has chosen, without ever being led to a machine of ours: the name
 * must be one of the public DNS, every address of it must be public, the connection goes to the very address that was
 * looked at (a second look-up could say something else) and says so itself, and redirects are not followed.
 */
export interface PublicFiles {
  fetch(name: string, path: string): Promise<FetchedFile>
}

export type FetchedFile = { text: string } | { refusal: FileRefusal; status?: number } | { isUnanswered: true }

export interface PublicFileOptions {
  resolver: Pick<DomainResolver, 'addresses'>
  /** Replaced in tests, which have no other machine than their own. */
  isAllowed?(address: string): boolean
  port?: number
  /** In PEM, instead of the authorities that Node knows. */
  ca?: string
  withinMs?: number
}

/** Many times what a token takes. */
const FILE_BYTES_MAX = 1024
/** Never a page: on many sites strangers choose what stands in one, and some let them choose its path. */
const FILE_TYPES = new Set(['text/plain', 'application/octet-stream'])
const HEADER_BYTES_MAX = 16 * 1024
const WITHIN_MS = 5_000
const HTTPS_PORT = 443

export function createPublicFiles(options: PublicFileOptions): PublicFiles {
  const { resolver, isAllowed = isPublicAddress, withinMs = WITHIN_MS } = options
  return {
    async fetch(name, path) {
      if (domainNameOf(name) !== name) return { refusal: 'address_not_public' }
      const addresses = await resolver.addresses(name)
      if (addresses === undefined) return { isUnanswered: true }
      const [address] = addresses
      if (address === undefined) return { refusal: 'no_address' }
      if (!addresses.every(isAllowed)) return { refusal: 'address_not_public' }
      const deadline = AbortSignal.timeout(withinMs)
      const socket = connect({
        host: address,
        port: options.port ?? HTTPS_PORT,
        servername: name,
        ALPNProtocols: ['http/1.1'],
        ...(options.ca !== undefined && { ca: options.ca }),
      })
      // It may also fail when nobody waits for it any more.
      socket.on('error', () => {})
      try {
        await once(socket, 'secureConnect', { signal: deadline })
        if (!isAllowed(String(socket.remoteAddress))) return { refusal: 'address_not_public' }
        return await readFile(socket, name, path, deadline)
      } catch (error) {
        return isAboutCertificate(error) ? { refusal: 'certificate' } : { isUnanswered: true }
      } finally {
        socket.destroy()
      }
    },
  }
}

async function readFile(socket: TLSSocket, name: string, path: string, deadline: AbortSignal): Promise<FetchedFile> {
  const asking = request({
    createConnection: () => socket,
    host: name,
    path,
    maxHeaderSize: HEADER_BYTES_MAX,
    signal: deadline,
    headers: {
      host: name,
      'user-agent': 'Parley domain check',
      accept: 'text/plain',
      'accept-encoding': 'identity',
      connection: 'close',
    },
  })
  asking.end()
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  const status = response.statusCode ?? 0
  if (status >= 300 && status < 400) return { refusal: 'redirect', status }
  if (status !== 200) return { refusal: 'status', status }
  const [type = ''] = (response.headers['content-type'] ?? '').split(';')
  if (!FILE_TYPES.has(type.trim().toLowerCase())) return { refusal: 'type', status }
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > FILE_BYTES_MAX) return { refusal: 'too_large' }
    chunks.push(chunk)
  }
  return { text: Buffer.concat(chunks).toString('utf8') }
}

function isAboutCertificate(error: unknown): boolean {
  const code = String((error as { code?: unknown }).code)
  return /CERT|UNABLE_TO_|ERR_TLS_|HOSTNAME/.test(code)
}
