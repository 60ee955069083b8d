import type { Mutant } from './mutant.ts'

/** Planted evenly over the folders by somebody who had not seen the tests. */
export const SPREAD_PAGES: Mutant[] = [
  {
    bug: 'the filter for calls that were not streamed shows those that were',
    file: 'src/console/calls.ts',
    from: `streamed: streamed === undefined ? undefined : streamed === 'true',`,
    to: 'streamed: streamed === undefined ? undefined : Boolean(streamed),',
    test: 'test/integration/console-usage.test.ts',
    title: 'filters leave exactly what they name',
  },
  {
    bug: 'changing the password on the account page sends no mail about it',
    file: 'src/console/settings.ts',
    from: `    const data = { link: \`\${installation.consoleUrl}/sign-in\` }
    await postMail(tx, secrets, { recipient: user.email, template: 'password_changed', data })
`,
    to: '',
    test: 'test/integration/console-accounts.test.ts',
    title: 'changing the password ends every other session and tells by mail',
  },
  {
    bug: 'links in mails to confirm an address or reset a password never end',
    file: 'src/console/address-proofs.ts',
    from: ' || link.untilMs < Date.now())',
    to: ')',
    test: 'test/integration/pre-hijacking.test.ts',
    title: 'a link that confirms is good for a day, and one that sets a password for an hour',
  },
  {
    bug: 'the limit of ten sign-ups per network holds for a minute instead of an hour',
    file: 'src/console/accounts.ts',
    from: 'most: SIGN_UPS_PER_HOUR }], HOUR_MS)',
    to: 'most: SIGN_UPS_PER_HOUR }])',
    test: 'test/integration/sign-in-limits.test.ts',
    title:
      'what can be guessed, or sends mails, is refused when it was tried as often as is written here, until its time is over',
  },
  {
    bug: 'routes for people with a confirmed address are open to everybody who has signed up',
    file: 'src/console/route.ts',
    from: `  if (entry.confirmed && !user?.emailVerified) throw notConfirmed()
`,
    to: '',
    test: 'test/integration/pre-hijacking.test.ts',
    title: 'nobody adds a second factor or a passkey, or invites others, before the address is confirmed',
  },
  {
    bug: 'entries of the audit log no longer say which project they are about',
    file: 'src/console/audited.ts',
    from: 'projectId: call.project?.id ?? null,',
    to: 'projectId: null,',
    test: 'test/integration/console-pictures.test.ts',
    title: 'POST /api/publishers/:publisher/projects',
  },
  {
    bug: 'an inquiry that was closed without becoming a dispute counts as money that went back',
    file: 'src/console/stripe.ts',
    from: `(isClosed && told.status !== 'lost')`,
    to: `(isClosed && told.status === 'won')`,
    test: 'test/integration/stripe-returns.test.ts',
    title: 'created warning_needs_response, closed warning_closed',
  },
  {
    bug: 'invitations are shown to, and can be accepted by, people who have not confirmed their address',
    file: 'src/console/team.ts',
    from: `  return user.emailVerified ? listInvitationsTo(db, user.email) : []
`,
    to: `  return listInvitationsTo(db, user.email)
`,
    test: 'test/integration/console-team.test.ts',
    title: 'who is invited by mail can join with that address, once confirmed, and with the role that was offered',
  },
  {
    bug: 'the list of recommendations never says that there is another page',
    file: 'src/console/monetization.ts',
    from: '{ before: query.after, most: query.limit + 1 }',
    to: '{ before: query.after, most: query.limit }',
    test: 'test/integration/console-monetization.test.ts',
    title: 'what was recommended is listed newest first and page by page, without what nobody was shown',
  },
  {
    bug: 'the CSV of the audit log ignores the filters',
    file: 'src/console/audit.ts',
    from: 'await listAuditLog(db, publisher.id, filtersOf(query), CSV_ROWS_MAX)',
    to: 'await listAuditLog(db, publisher.id, {}, CSV_ROWS_MAX)',
    test: 'test/integration/console-team.test.ts',
    title: 'every change is in the audit log, with who, from where and what; filters, pages and CSV agree',
  },
  {
    bug: 'A very small share is shown as nothing',
    file: 'dashboard/src/formats.ts',
    from: `  if (percent > 0 && percent < 0.1) return '< 0.1 %'
`,
    to: '',
    test: 'dashboard/src/formats.test.ts',
    title: 'a share that is not nothing is not shown as nothing',
  },
  {
    bug: 'the periods of the ledger are one day too long',
    file: 'dashboard/src/pages/wallet/periods.ts',
    from: '(Number(days) - 1) * DAY_MS',
    to: 'Number(days) * DAY_MS',
    test: 'dashboard/src/pages/wallet/periods.test.ts',
    title: 'a period is that many days in UTC, and today is one of them, to its last millisecond',
  },
]
