import type { Mutant } from './mutant.ts'

/** Two changes at once, of which one takes away what the other builds on. */
export const RACES: Mutant[] = [
  {
    bug: 'who was removed while their request waited may still change things',
    file: 'src/console/route.ts',
    from: 'const role = await holdRole(tx, whose, user.id)',
    to: "const role = (await holdRole(tx, whose, user.id)) ?? 'owner'",
    test: 'test/integration/console-races.test.ts',
    title: 'who is removed meanwhile gets no key, makes nobody an admin and removes nobody',
  },
  {
    bug: 'a change does not wait for a change of the team that is under way',
    file: 'src/store/accounts/members.ts',
    from: 'select pg_advisory_xact_lock_shared(',
    to: 'select pg_try_advisory_xact_lock_shared(',
    test: 'test/integration/console-races.test.ts',
    title: 'who leaves while they change something else neither waits for themselves nor changes it',
  },
  {
    bug: 'two changes of a team run at once',
    file: 'src/store/accounts/members.ts',
    from: 'select pg_advisory_xact_lock(',
    to: 'select pg_try_advisory_xact_lock(',
    test: 'test/integration/console-races.test.ts',
    title: 'of several who remove or change somebody at once, one does, and the log says so once',
  },
  {
    bug: 'what was accepted can be declined afterwards',
    file: 'src/actions/accounts/invitations.ts',
    from: `  if ((await deleteInvitation(tx, team, id)) === undefined) throw notThere('invitation')
  await log(tx, person, team, 'declined'`,
    to: `  await deleteInvitation(tx, team, id)
  await log(tx, person, team, 'declined'`,
    test: 'test/integration/console-races.test.ts',
    title: 'nobody withdraws or declines what was accepted meanwhile, nor closes the account with a guest in it',
  },
  {
    bug: 'a deleted project gets another key',
    file: 'src/store/projects/projects.ts',
    from: `    .where('archived_at', 'is', null)
    .forNoKeyUpdate()`,
    to: '    .forNoKeyUpdate()',
    test: 'test/integration/console-races.test.ts',
    title: 'a project that is deleted meanwhile gets no key and no verified domain, and spends nothing',
  },
  {
    bug: 'a check verifies the domain of a deleted project',
    file: 'src/actions/projects/domains.ts',
    from: `  if (!(await lockProject(tx, check.projectId))) return undefined
`,
    to: '',
    test: 'test/integration/console-races.test.ts',
    title: 'a project that is deleted meanwhile gets no key and no verified domain, and spends nothing',
  },
  {
    bug: 'two keys that are made at once are both the last that there is room for',
    file: 'src/actions/projects/key-pairs.ts',
    from: `  await expectProject(tx, project.id)
  // An operator`,
    to: '  // An operator',
    test: 'test/integration/console-races.test.ts',
    title: 'of many keys that are made at once, none is beyond the limit',
  },
  {
    bug: 'a download goes on after its reader was removed',
    file: 'src/console/route.ts',
    from: 'if (isChange || entry.network)',
    to: 'if (isChange)',
    test: 'test/integration/console-races.test.ts',
    title: 'a download ends where its reader was removed',
  },
  {
    bug: 'an address that is confirmed later undoes an operator’s deactivation',
    file: 'src/store/accounts/publishers.ts',
    from: '.set({ activated_at: activatedAt, confirmation_awaited_from: null })',
    to: '.set({ activated_at: activatedAt })',
    test: 'test/integration/console-races.test.ts',
    title: 'an operator’s decision stands: neither a confirmed address nor the old record undoes it',
  },
  {
    bug: 'the record that proved a domain proves it again after an operator has taken that back',
    file: 'src/actions/projects/domains.ts',
    from: `  if (!isVerified) await store.setVerificationToken(tx, project.id, newVerificationToken())
`,
    to: '',
    test: 'test/integration/console-races.test.ts',
    title: 'an operator’s decision stands: neither a confirmed address nor the old record undoes it',
  },
  {
    bug: 'a code opens a session although the password was replaced meanwhile',
    file: 'src/console/accounts/sign-in.ts',
    from: 'if (!account || !(await isStillPassword(tx, account))) throw',
    to: 'if (!account) throw',
    test: 'test/integration/console-races.test.ts',
    title: 'a code that is being checked while the password is reset opens no session',
  },
  {
    bug: 'a session that was ended still changes what is its person’s',
    file: 'src/console/route.ts',
    from: `      if (!(await isSessionOpen(tx, user.id, user.sessionId))) throw new ParleyError('signed_out')
`,
    to: '',
    test: 'test/integration/console-races.test.ts',
    title: 'a session that ends meanwhile changes nothing of its person',
  },
  {
    bug: 'two people who share accounts lock them in different orders',
    file: 'src/store/accounts/members.ts',
    from: `.orderBy('m.publisher_id')`,
    to: `.orderBy('m.created_at')`,
    test: 'test/integration/console-races.test.ts',
    title: 'two people who share accounts never wait for each other, and no sign-in is without its entry',
  },
  {
    bug: 'accounts beyond the 200th are left out of what a person does',
    file: 'src/store/accounts/members.ts',
    from: `.orderBy('m.publisher_id').execute()`,
    to: `.orderBy('m.publisher_id').limit(200).execute()`,
    test: 'test/integration/console-races.test.ts',
    title: 'what somebody does who is in very many accounts is in the log of each',
  },
  {
    bug: 'somebody may call themselves operator',
    file: 'src/console/contract/accounts/account.ts',
    from: 'body: z.object({ name: personName })',
    to: 'body: z.object({ name })',
    test: 'test/integration/console-races.test.ts',
    title: 'people are told apart in the log by more than their names',
  },
  {
    bug: 'a deleted project spends what is left',
    file: 'functions/ledger_hold.sql',
    from: ' or p.archived_at is not null then',
    to: ' then',
    test: 'test/integration/ledger.test.ts',
    title: 'key, account and domain are checked again when credit is held',
  },
  {
    bug: 'words that changed after they were read are approved',
    file: 'src/actions/offers/offers.ts',
    from: 'wordsMark !== undefined && wordsMark !== marks.get(id)',
    to: 'wordsMark !== undefined && !marks.has(id)',
    test: 'test/integration/offers-cli.test.ts',
    title: 'a person decides on the words that they have read',
    isStory: true,
  },
]
