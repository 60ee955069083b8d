import { request } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { FileRefusal } from '../../../rules/projects/domains.ts'
import {
  connectPublicly,
  isAboutCertificate,
  responseTo,
  type PublicConnectionOptions,
} from '../../public-connection.ts'

/**
 * Fetches a small text file from a name that a stranger has chosen, without ever being led to a machine of ours: see
 * public-connection.ts. Redirects are not followed.
 */
export interface PublicFiles {
  fetch(name: string, path: string): Promise<FetchedFile>
}

export type FetchedFile = { text: string } | { refusal: FileRefusal; status?: number } | { isUnanswered: true }

export interface PublicFileOptions extends PublicConnectionOptions {
  withinMs?: number
}

/** Many times what a token takes. */
const FILE_BYTES_MAX = 1024
/** Never a page: on many sites strangers choose what stands in one, and some let them choose its path. */
const FILE_TYPES = new Set(['text/plain', 'application/octet-stream'])
const HEADER_BYTES_MAX = 16 * 1024
const WITHIN_MS = 5_000

export function createPublicFiles({ withinMs = WITHIN_MS, ...options }: PublicFileOptions): PublicFiles {
  // Name servers have a limit of their own, which comes before this one.
  const deadline = () => AbortSignal.timeout(withinMs)
  return {
    async fetch(name, path) {
      let socket: TLSSocket | undefined
      try {
        const connection = await connectPublicly(options, name, deadline)
        if ('refusal' in connection)
          return connection.refusal === 'dns' ? { isUnanswered: true } : { refusal: connection.refusal }
        socket = connection.socket
        return await readFile(socket, name, path, connection.deadline)
      } catch (error) {
        return isAboutCertificate(error) ? { refusal: 'certificate' } : { isUnanswered: true }
      } finally {
        socket?.destroy()
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
  const response = await responseTo(asking, deadline)
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
