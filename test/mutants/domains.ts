import type { Mutant } from './mutant.ts'

export const DOMAINS: Mutant[] = [
  {
    bug: 'a DNS server that does not answer takes a verified domain away',
    file: 'src/rules/projects/domains.ts',
    from: "if (dns.outcome === 'unanswered' || (provenBy",
    to: 'if ((provenBy',
    test: 'src/rules/projects/domains.test.ts',
    title: 'name servers that do not answer take no proof away, however long',
  },
  {
    bug: 'one public address among private ones lets them all be connected to',
    file: 'src/actions/public-connection.ts',
    from: 'if (!addresses.every(isAllowed))',
    to: 'if (!addresses.some(isAllowed))',
    test: 'test/integration/domain-check.test.ts',
    title: 'one private address among public ones refuses them all',
  },
  {
    bug: 'a check of the old token verifies a domain that has a new one',
    file: 'src/actions/projects/domains.ts',
    from: ' || domain.token !== check.token',
    to: '',
    test: 'test/integration/console-domains.test.ts',
    title:
      'a check that was under way when the domain was changed, and changed back, found an old token and counts for nothing',
  },
  {
    bug: 'a check of the old name verifies the new one',
    file: 'src/actions/projects/domains.ts',
    from: 'domain.name !== check.name || domain.token !== check.token',
    to: 'false',
    test: 'test/integration/console-domains.test.ts',
    title: 'a check that was under way when the domain was changed is about the old name and counts for nothing',
  },
  {
    bug: 'a name server that fails for IPv6 hides IPv4',
    file: 'src/actions/projects/domain-check/resolver.ts',
    from: 'return v4 === undefined && v6 === undefined ?',
    to: 'return v4 === undefined || v6 === undefined ?',
    test: 'test/integration/domain-check.test.ts',
    title: 'a name server that fails for one family of addresses does not hide those of the other',
  },
  {
    bug: 'the mail about a failing domain does not say when it lapses',
    file: 'src/actions/projects/domains.ts',
    from: 'lapsesOn: dayOf(lapsesAtOf(standing))',
    to: 'lapsesOn: dayOf(lapsesAtOf(domain))',
    test: 'test/integration/console-domains.test.ts',
    title: 'a proof that disappears is failing first, and lapses after seven days: only then calls answer 403',
  },
]
