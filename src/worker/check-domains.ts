import type { CheckDomain } from '../actions/projects/domain-check/check.ts'
import { recordCheck, type RecordCheckOptions } from '../actions/projects/domains.ts'
import { SECOND_MS } from '../rules/durations.ts'
import type { Db } from '../store/database.ts'
import { claimDueDomains, type DueDomain } from '../store/projects/domains.ts'
import { withTenant, type Tenants } from '../store/tenancy.ts'
import type { Job } from './job.ts'

/** The first check of a new domain is due after a minute. */
const CHECK_EVERY_MS = 10 * SECOND_MS
/** So many at a time: each waits for name servers and websites of strangers, and none of that takes anything of ours. */
const CHECKS_AT_ONCE = 10

export interface DomainChecksOptions extends RecordCheckOptions {
  db: Db
  tenants: Tenants
  check: CheckDomain
  signal: AbortSignal
}

export function checkDomainsJob({
  checkDomain,
  ...options
}: Omit<DomainChecksOptions, 'check'> & { checkDomain: CheckDomain }): Job {
  return {
    name: 'check domains',
    everyMs: CHECK_EVERY_MS,
    run: () => checkDueDomains({ ...options, check: checkDomain }),
  }
}

/** Checks every domain that is due. Workers share the domains among themselves: who claims one has it. */
export async function checkDueDomains(options: DomainChecksOptions): Promise<void> {
  while (!options.signal.aborted) {
    const due = await claimDueDomains(options.db, CHECKS_AT_ONCE)
    await Promise.all(due.map((domain) => checkOne(options, domain)))
    if (due.length < CHECKS_AT_ONCE) return
  }
}

async function checkOne(options: DomainChecksOptions, domain: DueDomain): Promise<void> {
  const findings = await options.check(domain)
  // The check may have been cut short, because this process is ending.
  if (options.signal.aborted) return
  const { publisherId, projectId } = domain
  await withTenant(options.tenants, { publisherId, projectId }, (tx) =>
    recordCheck(tx, options, { ...domain, findings, isAsked: false }),
  )
}
