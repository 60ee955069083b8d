import type { Mutant } from './mutant.ts'

export const CONSOLE_ACCOUNTS: Mutant[] = [
  {
    bug: 'when a passkey was last used is not written down',
    file: 'src/store/passkeys.ts',
    from: '.set({ counter: BigInt(counter), last_used_at: sql`now()` })',
    to: '.set({ counter: BigInt(counter) })',
    test: 'test/integration/passkeys.test.ts',
    title: 'a passkey signs in without an address, a password or a code, and is listed, renamed and removed',
  },
  {
    bug: 'sessions that have ended are listed among those where one is signed in',
    file: 'src/store/users.ts',
    from: `    .where('expires_at', '>', sql<Date>\`now()\`)\n`,
    to: '',
    test: 'test/integration/console-accounts.test.ts',
    title: 'a session that has ended by itself is not among those where one is signed in',
  },
  {
    bug: 'the longest life of a session counts from its last renewal, so one that is used never ends',
    file: 'src/console/route.ts',
    from: 'if (Date.now() - session.createdAt.getTime() > SESSION_LONGEST_MS) return undefined',
    to: 'if (Date.now() - session.updatedAt.getTime() > SESSION_LONGEST_MS) return undefined',
    test: 'test/integration/console-accounts.test.ts',
    title: 'a session ends seven days after signing in, however much it is used',
  },
  {
    bug: 'changes are accepted from other hosts of the same site',
    file: 'src/console/api.ts',
    from: "site === undefined ? request.headers.origin === consoleUrl : site === 'same-origin'",
    to: "site === undefined ? request.headers.origin === consoleUrl : site !== 'cross-site'",
    test: 'test/integration/console-security.test.ts',
    title: 'a change is refused unless our own page asks for it, whatever cookies it carries',
  },
  {
    bug: 'the limit of attempts on one account from all networks counts for a minute instead of a day',
    file: 'src/console/sign-in-limits.ts',
    from: 'await throttle(db, [{ subject: account, most: ACCOUNT_PER_DAY, advice: ADVICE }], DAY_MS)',
    to: 'await throttle(db, [{ subject: account, most: ACCOUNT_PER_DAY, advice: ADVICE }])',
    test: 'test/integration/sign-in-limits.test.ts',
    title:
      'what can be guessed, or sends mails, is refused when it was tried as often as is written here, until its time is over',
  },
  {
    bug: 'the code with which two-factor sign-in was turned on is not remembered as used',
    file: 'src/console/second-factors.ts',
    from: '    await isFirst(db, codeOf(user.id, body.code), CODE_GOOD_FOR_MS)\n',
    to: '',
    test: 'test/integration/console-accounts.test.ts',
    title: 'with two-factor on, a password alone opens nothing; codes and recovery codes work once',
  },
  {
    bug: 'a browser counts as known for less than ten hours instead of 400 days: seconds are compared with milliseconds',
    file: 'src/console/devices.ts',
    from: 'Date.now() - device.sinceMs < KEPT_FOR_S * 1_000 ? device.id : undefined',
    to: 'Date.now() - device.sinceMs < KEPT_FOR_S ? device.id : undefined',
    test: 'test/integration/sign-in-limits.test.ts',
    title: 'a device is known for one account, for 400 days, until its password changes, and only by our signature',
  },
  {
    bug: 'when somebody gets a lower role, the invitations that they may no longer send stay open',
    file: 'src/console/team.ts',
    from: 'await deleteInvitationsBy(db, publisher.id, member.id, invitableRoles(body.role)))',
    to: 'await deleteInvitationsBy(db, publisher.id, member.id, invitableRoles(member.role)))',
    test: 'test/integration/invitations.test.ts',
    title: 'who is demoted keeps no invitation that they could not send now',
  },
]
