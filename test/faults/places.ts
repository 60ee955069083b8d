import { createSimulator, type Simulator } from '../../simulator/server.ts'
import { createBlackHole, refusedPort } from '../../simulator/unreachable.ts'
import { createAuthority } from '../support/certificates.ts'
import { createDnsServer, type DnsAnswer } from '../support/dns-server.ts'

/** Where providers are found, or not: the faults that no request can ask for. */
export interface Places {
  /** The certificate authority that the gateway must trust; `nameServer` is the DNS server that it must ask. */
  ca: string
  nameServer: string
  /** Says in another voice what the others say, so that two answers glued together are noticed. */
  healthy: Simulator
  /** The place at which a cell finds its first provider. `n` is its number: no two cells share a name or a place's state. */
  of(fault: string, n: number): Promise<Place>
  close(): Promise<void>
}

export interface Place {
  /** Without a path. */
  url: string
  /** The simulator that answers there. Undefined: none does. */
  simulator: Simulator | undefined
}

/** The seeds of the simulators: what each of them says. */
export const FAULTY_SEED = 1
export const HEALTHY_SEED = 2

export async function openPlaces(): Promise<Places> {
  const authority = createAuthority()
  const strangers = createAuthority()
  const certificates = {
    'U3-trusted': authority.issue('trusted.here.test'),
    'U3-expired': authority.issue('expired.here.test', { isExpired: true }),
    'U3-wrong-host': authority.issue('somebody-else.test'),
    'U3-self-signed': authority.selfSigned('self-signed.here.test'),
    'U3-untrusted': strangers.issue('untrusted.here.test'),
  }
  const names = await createDnsServer(createZones())
  const hole = await createBlackHole()
  const refusing = await refusedPort()
  const faulty = await createSimulator({ seed: FAULTY_SEED })
  const healthy = await createSimulator({ seed: HEALTHY_SEED })
  const secure = new Map<string, Simulator>()
  for (const [fault, tls] of Object.entries(certificates)) {
    secure.set(fault, await createSimulator({ seed: FAULTY_SEED, tls }))
  }
  const own: Simulator[] = []

  async function place(fault: string, n: number): Promise<Place> {
    const guarded = secure.get(fault)
    if (guarded) return { url: `https://${fault.slice(3)}.here.test:${guarded.port}`, simulator: guarded }
    if (fault === 'U1') return { url: `http://127.0.0.1:${refusing}`, simulator: undefined }
    if (fault === 'U2') return { url: `http://127.0.0.1:${hole.port}`, simulator: undefined }
    if (fault === 'U3-plain') return { url: faulty.url.replace('http:', 'https:'), simulator: faulty }
    if (fault.startsWith('U4-')) {
      return { url: `http://c${n}.${fault.slice(3)}.test:${faulty.port}`, simulator: faulty }
    }
    if (fault.startsWith('U15')) {
      // Bytes that are left on its sockets must meet this cell's calls, and no other's.
      const simulator = await createSimulator({ seed: FAULTY_SEED })
      own.push(simulator)
      return { url: simulator.url, simulator }
    }
    return { url: faulty.url, simulator: faulty }
  }

  return {
    ca: authority.cert,
    nameServer: names.address,
    healthy,
    of: place,
    async close() {
      await Promise.all([faulty, healthy, ...secure.values(), ...own].map((simulator) => simulator.close()))
      await hole.close()
      await names.close()
    },
  }
}

/** `anything.ZONE.test`, where the zone is what happens to whoever asks. */
function createZones(): (question: { name: string; type: string }) => DnsAnswer {
  const firstAskedMs = new Map<string, number>()
  const here = (type: string, ttlSeconds: number) => ({ records: type === 'A' ? ['127.0.0.1'] : [], ttlSeconds })
  return ({ name, type }) => {
    switch (name.split('.').at(-2)) {
      case 'here':
        return here(type, 60)
      case 'slow':
        return { ...here(type, 60), delayMs: 150 }
      case 'stale': {
        // Known for a second, in which a question may also come twice; then the server is broken.
        const askedMs = firstAskedMs.get(name) ?? performance.now()
        firstAskedMs.set(name, askedMs)
        if (performance.now() - askedMs > 1_000) return { rcode: 'SERVFAIL' }
        return here(type, 1)
      }
      case 'servfail':
        return { rcode: 'SERVFAIL' }
      case 'silent':
        return { isDropped: true }
      default:
        return undefined
    }
  }
}
