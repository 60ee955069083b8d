import {
  misplacedNamesOf,
  PROOF_FILE_PATH,
  proofRecordOf,
  type FileFinding,
  type Findings,
  type ProofRecord,
} from '../../../rules/projects/domains.ts'
import { createPublicFiles, type FetchedFile, type PublicFileOptions, type PublicFiles } from './public-file.ts'
import { createDomainResolver, type DomainResolver } from './resolver.ts'

/** Looks for the proof that a domain is its publisher's. Never throws: what could not be asked is a finding too. */
export type CheckDomain = (domain: { name: string; token: string }) => Promise<Findings>

export interface CheckDomainOptions {
  /** `address:port`; left out: those of the system. */
  dnsServers?: readonly string[] | undefined
  files?: Omit<PublicFileOptions, 'resolver'>
}

const VALUES_SHOWN_MAX = 10
const VALUE_LENGTH_MAX = 300

export function createCheckDomain(options: CheckDomainOptions = {}): CheckDomain {
  const resolver = createDomainResolver(options.dnsServers)
  const files = createPublicFiles({ ...options.files, resolver })
  return async ({ name, token }) => {
    const record = proofRecordOf(name, token)
    const dns = await lookForRecord(resolver, record)
    const file: FileFinding =
      dns.outcome === 'match'
        ? { outcome: 'not_needed', reason: null, status: null }
        : await lookForFile(files, name, [record.value, token])
    return { dns, file }
  }
}

async function lookForRecord(resolver: DomainResolver, record: ProofRecord): Promise<Findings['dns']> {
  const values = await resolver.texts(record.name)
  if (values === undefined) return { outcome: 'unanswered', values: [], misplacedAt: null }
  const shown = values.slice(0, VALUES_SHOWN_MAX).map(presentable)
  // People paste the value with the quotes that zone files write around it.
  if (values.some((value) => value.trim().replaceAll('"', '') === record.value))
    return { outcome: 'match', values: shown, misplacedAt: null }
  const misplacedAt = await findMisplaced(resolver, record)
  return { outcome: values.length > 0 ? 'other' : 'absent', values: shown, misplacedAt }
}

async function findMisplaced(resolver: DomainResolver, record: ProofRecord): Promise<string | null> {
  const names = misplacedNamesOf(record)
  const found = await Promise.all(names.map((name) => resolver.texts(name)))
  return names.find((_, n) => found[n]?.includes(record.value)) ?? null
}

/** The file holds one of the proofs and nothing else: a proof inside other text may be anybody's comment. */
async function lookForFile(files: PublicFiles, name: string, proofs: readonly string[]): Promise<FileFinding> {
  const fetched: FetchedFile = await files.fetch(name, PROOF_FILE_PATH)
  if ('isUnanswered' in fetched) return { outcome: 'unanswered', reason: null, status: null }
  if ('text' in fetched)
    return { outcome: proofs.includes(fetched.text.trim()) ? 'match' : 'other', reason: null, status: 200 }
  const { refusal: reason, status = null } = fetched
  const isAbsent = status === 404 || status === 410
  return { outcome: isAbsent ? 'absent' : 'refused', reason, status }
}

/** Strangers write these, and people read them. */
function presentable(value: string): string {
  return value.replaceAll(/[\p{Cc}\p{Cf}]/gu, '\u{fffd}').slice(0, VALUE_LENGTH_MAX)
}
