import { domainStateOf, lapsesAtOf, type DomainStanding, type FileRefusal, type Findings } from './domains.ts'

/** The words for people about their domain: what is the case, what follows from it, and what they can do. */

export function explainStanding(standing: DomainStanding): string {
  switch (domainStateOf(standing)) {
    case 'pending':
      return standing.nextCheckAt
        ? 'Not verified yet, so calls are refused with 403. Add one of the two proofs below; Parley looks for it automatically.'
        : 'Not verified, so calls are refused with 403. Parley stopped looking for a proof after 7 days. Add one, then check now: that starts the automatic checks again.'
    case 'verified':
      if (standing.provenBy === 'sandbox')
        return 'Verified: calls are served. The name belongs to the operator of this installation and was created for your sandbox, so there is nothing to prove. It cannot be changed.'
      return standing.provenBy === 'operator'
        ? 'Verified: calls are served. The operator of this installation has vouched for the domain, so no proof is needed.'
        : 'Verified: calls are served. Parley looks again every day, so leave the proof where it is.'
    case 'failing':
      return `The proof is no longer there. Calls are still served until ${dayOf(lapsesAtOf(standing))}; after that they are refused with 403. Put the proof back before then.`
    case 'lapsed':
      return `The proof was missing for 7 days, so since ${dayOf(standing.lapsedAt)} calls are refused with 403. Put it back, then check now.`
  }
}

export function explainRecord({ dns }: Findings, record: { name: string }): string {
  if (dns.misplacedAt !== null)
    return `The right value is at ${dns.misplacedAt}. Move it to ${record.name}: most DNS forms add the domain automatically.`
  switch (dns.outcome) {
    case 'match':
      return 'The record is there, with the right value.'
    case 'other':
      return 'There are TXT records with this name, but none has the right value.'
    case 'absent':
      return 'There is no such record yet. After a change, it can take minutes to hours until everyone sees it.'
    case 'unanswered':
      return 'The name servers of this domain did not answer in time.'
  }
}

const REFUSALS: Record<FileRefusal, string> = {
  no_address: 'The domain has no address, so there is no website to check.',
  address_not_public:
    'The domain leads to an address that is not public. Parley does not go there; use the DNS record.',
  certificate: 'The certificate of the website is not valid for this domain.',
  redirect: 'The website redirects to another address. The file must be at exactly this address.',
  status: 'The website does not answer with status 200.',
  type: 'The website serves it as a page. The file must be plain text (content type text/plain).',
  too_large: 'The file is larger than 1 KB. It must contain the content below and nothing else.',
}

export function explainFile({ file }: Findings): string {
  switch (file.outcome) {
    case 'match':
      return 'The file is there, with the right token.'
    case 'not_needed':
      return 'Not looked for: the DNS record proves the domain.'
    case 'other':
      return 'The file is there, but its content is not the one below, or there is more in it.'
    case 'absent':
      return `There is no such file: the website answers ${file.status ?? 404}.`
    case 'refused':
      return file.reason === 'status' && file.status !== null
        ? `The website answers with status ${file.status} instead of 200.`
        : REFUSALS[file.reason ?? 'status']
    case 'unanswered':
      return 'The website did not answer in time.'
  }
}

/** In UTC. */
export function dayOf(date: Date | null): string {
  return date ? DAY.format(date) : ''
}

const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
