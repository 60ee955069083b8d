import { once } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { connect, type TLSSocket } from 'node:tls'
import { isPublicAddress } from '../rules/accounts/addresses.ts'
import { domainNameOf } from '../rules/projects/domains.ts'
import type { DomainResolver } from './projects/domain-check/resolver.ts'

/**
 * Connects to a name that a stranger has chosen, without ever being led to a machine of ours: the name must be one of the
 * public DNS, every address of it must be public, and the connection goes to the very address that was looked at (a second
 * look-up could say something else) and says so itself.
 */
export interface PublicConnectionOptions {
  resolver: Pick<DomainResolver, 'addresses'>
  /** Replaced in tests, which have no other machine than their own. */
  isAllowed?: ((address: string) => boolean) | undefined
  port?: number | undefined
  /** In PEM, instead of the authorities that Node knows. */
  ca?: string | undefined
}

/** The failures to connect that say something about the name. All others are thrown. */
export type ConnectionRefusal = 'address_not_public' | 'no_address' | 'dns'

const HTTPS_PORT = 443

/** The deadline of the connection starts when the addresses are known. A caller that gets a socket must destroy it. */
export async function connectPublicly(
  { resolver, isAllowed = isPublicAddress, port = HTTPS_PORT, ca }: PublicConnectionOptions,
  name: string,
  startDeadline: () => AbortSignal,
): Promise<{ socket: TLSSocket; deadline: AbortSignal } | { refusal: ConnectionRefusal }> {
  if (domainNameOf(name) !== name) return { refusal: 'address_not_public' }
  const addresses = await resolver.addresses(name)
  if (addresses === undefined) return { refusal: 'dns' }
  const [address] = addresses
  if (address === undefined) return { refusal: 'no_address' }
  if (!addresses.every(isAllowed)) return { refusal: 'address_not_public' }
  const deadline = startDeadline()
  const socket = connect({
    host: address,
    port,
    servername: name,
    ALPNProtocols: ['http/1.1'],
    ...(ca !== undefined && { ca }),
  })
  // It may also fail when nobody waits for it any more.
  socket.on('error', () => {})
  try {
    await once(socket, 'secureConnect', { signal: deadline })
  } catch (error) {
    socket.destroy()
    throw error
  }
  if (isAllowed(String(socket.remoteAddress))) return { socket, deadline }
  socket.destroy()
  return { refusal: 'address_not_public' }
}

/** A server that changes to a protocol which nobody has asked for. */
export class UnaskedUpgrade extends Error {
  override name = 'UnaskedUpgrade'
}

/**
 * The head of what a stranger's server answers. The wait ends in any case: of a connection that is closed or upgraded, Node
 * says neither 'response' nor 'error', and whoever waited for those would wait for ever.
 */
export async function responseTo(asking: ClientRequest, deadline: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  asking.on('response', resolve)
  // Also when it has answered already.
  asking.on('error', reject)
  asking.on('upgrade', (_, socket) => {
    socket.destroy()
    reject(new UnaskedUpgrade('the server changed the protocol'))
  })
  asking.on('close', () => reject(new Error('closed without an answer')))
  deadline.addEventListener('abort', () => reject(deadline.reason as Error), { once: true })
  return promise
}

export function isAboutCertificate(error: unknown): boolean {
  const code = String((error as { code?: unknown }).code)
  return /CERT|UNABLE_TO_|ERR_TLS_|HOSTNAME/.test(code)
}
