import { Resolver } from 'node:dns/promises'

/** Asks the DNS about domains of publishers, over the network and within bounds. */
export interface DomainResolver {
  /** Undefined when nobody answered; empty when there is no such record. */
  texts(name: string): Promise<string[] | undefined>
  /** All addresses, IPv4 first. Undefined when nobody answered. */
  addresses(name: string): Promise<string[] | undefined>
}

const TRY_MS = 5_000
const TRIES = 2
/** The second try waits longer, and there may be several servers: this ends them all. */
const ANSWER_MS_MAX = 12_000
const RECORDS_MAX = 20
const NOT_THERE = new Set(['ENOTFOUND', 'ENODATA'])

/** `servers` as `address:port`; left out: those of the system. */
export function createDomainResolver(servers?: readonly string[]): DomainResolver {
  /** A resolver for each question: cancelling one ends all questions of its resolver, and the system's servers change. */
  async function ask<T>(question: (resolver: Resolver) => Promise<T[]>): Promise<T[] | undefined> {
    const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES })
    if (servers) resolver.setServers(servers)
    const timer = setTimeout(() => resolver.cancel(), ANSWER_MS_MAX)
    try {
      return (await question(resolver)).slice(0, RECORDS_MAX)
    } catch (error) {
      return NOT_THERE.has(String((error as { code?: unknown }).code)) ? [] : undefined
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    texts: (name) => ask(async (resolver) => (await resolver.resolveTxt(name)).map((parts) => parts.join(''))),
    async addresses(name) {
      const [v4, v6] = await Promise.all([
        ask((resolver) => resolver.resolve4(name)),
        ask((resolver) => resolver.resolve6(name)),
      ])
      return v4 === undefined && v6 === undefined ? undefined : [...(v4 ?? []), ...(v6 ?? [])]
    },
  }
}
