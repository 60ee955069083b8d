import { parse } from 'tldts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../durations.ts'

/** Names that mean something only inside a network: nobody can own one in the DNS that everybody asks. */
const INSIDE_ONLY = /(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|home\.arpa|onion|invalid)$/

/** The limit of DNS. Punycode, in which it counts, is never shorter than the name as people write it. */
const NAME_CHARACTERS_MAX = 253

/**
 * The name as DNS knows it: lower case, punycode, no scheme, port or path. Undefined when it is not a name that somebody
 * can own: an address, a single label, a public suffix such as co.uk, or a name that exists only inside a network.
 */
export function domainNameOf(text: string): string | undefined {
  const bare = text
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/\/$/, '')
    .replace(/\.$/, '')
  // Before it is read: that takes time that grows with the square of a long name.
  if (bare.length > NAME_CHARACTERS_MAX || /[/:@?#\s\\%]/.test(bare)) return undefined
  const name = URL.parse(`http://${bare}`)?.hostname
  if (name === undefined || name.length > NAME_CHARACTERS_MAX || INSIDE_ONLY.test(name)) return undefined
  const { domain, isIp, hostname } = parse(name, { allowPrivateDomains: true, validateHostname: true })
  if (isIp || domain === null || hostname !== name) return undefined
  return /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/.test(name) ? name : undefined
}

/** Longer than any address that a browser shows. */
const ADDRESS_CHARACTERS_MAX = 2_000

/**
 * The domain of what somebody pastes from an address bar, `https://example.com/news?page=2` for example; a bare name is taken as
 * it is. What has a user in it is no address that anybody pastes, and might be an email address.
 */
export function domainOfAddress(text: string): string | undefined {
  if (text.length > ADDRESS_CHARACTERS_MAX) return undefined
  const [host = ''] = text
    .trim()
    .replace(/^https?:\/\//i, '')
    .split(/[/?#]/, 1)
  return domainNameOf(host.replace(/:\d{1,5}$/, ''))
}

const VERIFY_LABEL = '_parley-verify'

export interface ProofRecord {
  /** The whole name. */
  name: string
  /** The part of it that most providers' forms ask for, who add the zone themselves. */
  host: string
  zone: string
  value: string
}

/** The TXT record that proves a domain. Its own label, so that it disturbs no other record and names who asked for it. */
export function proofRecordOf(domain: string, token: string): ProofRecord {
  const name = `${VERIFY_LABEL}.${domain}`
  const zone = parse(domain).domain ?? domain
  return { name, host: name.slice(0, -zone.length - 1), zone, value: `parley-verify=${token}` }
}

export const PROOF_FILE_PATH = '/.well-known/parley.txt'

/** The other of the two names that people take for one: `www.example.com` of `example.com` and the reverse. */
export function twinOf(domain: string): string | undefined {
  if (domain.startsWith('www.')) return domain.slice('www.'.length)
  return parse(domain).domain === domain ? `www.${domain}` : undefined
}

/** Where the record ends up by the two usual mistakes: without its label, and with the zone written twice. */
export function misplacedNamesOf({ name, zone }: ProofRecord): string[] {
  return [name.slice(VERIFY_LABEL.length + 1), `${name}.${zone}`]
}

/** The findings of one check. Kept, so that people see them too. */
export interface Findings {
  dns: {
    outcome: 'match' | 'other' | 'absent' | 'unanswered'
    values: string[]
    /** Where the record stands instead. */
    misplacedAt: string | null
  }
  file: FileFinding
}

export type FileOutcome = 'match' | 'other' | 'absent' | 'refused' | 'unanswered' | 'not_needed'
export type FileRefusal =
  | 'no_address'
  | 'address_not_public'
  | 'certificate'
  | 'redirect'
  | 'status'
  | 'type'
  | 'too_large'

export interface FileFinding {
  outcome: FileOutcome
  reason: FileRefusal | null
  status: number | null
}

export type DomainState = 'pending' | 'verified' | 'failing' | 'lapsed'
/** A sandbox has a name of the operator's own, which needs no proof. */
export type ProvenBy = 'dns' | 'file' | 'operator' | 'sandbox'

export interface DomainStanding {
  provenBy: ProvenBy | null
  /** Null refuses calls. */
  verifiedAt: Date | null
  failingSince: Date | null
  lapsedAt: Date | null
  pendingSince: Date
  /** Null: not checked by itself. */
  nextCheckAt: Date | null
  misses: number
}

export function domainStateOf(standing: Pick<DomainStanding, 'verifiedAt' | 'failingSince' | 'lapsedAt'>): DomainState {
  if (standing.verifiedAt) return standing.failingSince ? 'failing' : 'verified'
  return standing.lapsedAt ? 'lapsed' : 'pending'
}

/** Somebody sits before the page at first, and later waits for their DNS. */
const PENDING_WAITS_MS = [MINUTE_MS, 2 * MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, 30 * MINUTE_MS]
const PENDING_FOR_MS = 7 * DAY_MS
/** A single miss is more often a name server's bad moment than a change, so one looks again before saying anything. */
const SECOND_LOOK_MS = 10 * MINUTE_MS
const MISSES_BEFORE_FAILING = 2
const LAPSES_AFTER_MS = 7 * DAY_MS
const JITTER = 0.1

export interface CheckFacts {
  nowMs: number
  /** From 0 to 1, so that the checks of many domains do not come at the same moment. */
  random: number
  /** By a person, and not by the clock. */
  isAsked: boolean
}

/** How a domain stands after a check, and when it is checked next. */
export function standingAfter(before: DomainStanding, findings: Findings, facts: CheckFacts): DomainStanding {
  const { nowMs } = facts
  const now = new Date(nowMs)
  const at = (waitMs: number) => new Date(nowMs + waitMs * (1 - JITTER + 2 * JITTER * facts.random))
  // A domain that an operator has vouched for does not depend on what is found, and neither does a name of the operator's own.
  const needsNoProof = before.provenBy === 'operator' || before.provenBy === 'sandbox'
  if (needsNoProof && before.verifiedAt) return { ...before, nextCheckAt: null }
  const provenBy = proofIn(findings)
  if (provenBy) {
    const verifiedAt = before.verifiedAt ?? now
    return { ...before, provenBy, verifiedAt, failingSince: null, lapsedAt: null, misses: 0, nextCheckAt: at(DAY_MS) }
  }
  const misses = before.misses + 1
  const state = domainStateOf(before)
  if (state === 'verified') {
    if (misses < MISSES_BEFORE_FAILING) return { ...before, misses, nextCheckAt: at(SECOND_LOOK_MS) }
    return { ...before, misses, failingSince: now, nextCheckAt: at(HOUR_MS) }
  }
  if (state === 'failing') {
    if (!hasLapsed(before, findings, nowMs)) return { ...before, misses, nextCheckAt: at(HOUR_MS) }
    const lapsed = { verifiedAt: null, failingSince: null, lapsedAt: now, pendingSince: now }
    return { ...before, ...lapsed, misses: PENDING_WAITS_MS.length, nextCheckAt: at(HOUR_MS) }
  }
  // A person who asks has just changed something: the next checks come soon again.
  if (facts.isAsked) return { ...before, pendingSince: now, misses: 0, nextCheckAt: at(MINUTE_MS) }
  const isOver = nowMs - before.pendingSince.getTime() >= PENDING_FOR_MS
  return { ...before, misses, nextCheckAt: isOver ? null : at(PENDING_WAITS_MS[misses] ?? HOUR_MS) }
}

export function proofIn({ dns, file }: Findings): 'dns' | 'file' | undefined {
  if (dns.outcome === 'match') return 'dns'
  return file.outcome === 'match' ? 'file' : undefined
}

/** Only an answer takes a proof away: name servers that cannot be reached from here say nothing about the domain. */
function hasLapsed({ failingSince, provenBy }: DomainStanding, { dns, file }: Findings, nowMs: number): boolean {
  if (dns.outcome === 'unanswered' || (provenBy === 'file' && file.outcome === 'unanswered')) return false
  return failingSince !== null && nowMs - failingSince.getTime() >= LAPSES_AFTER_MS
}

/** When a failing domain stops working, unless its proof comes back. */
export function lapsesAtOf({ failingSince }: Pick<DomainStanding, 'failingSince'>): Date | null {
  return failingSince && new Date(failingSince.getTime() + LAPSES_AFTER_MS)
}
