import type { Mutant } from './mutant.ts'

/** Planted evenly over the folders by somebody who had not seen the tests. */
export const SPREAD_STORE: Mutant[] = [
  {
    bug: 'A hold no longer remembers which extension it was given last',
    file: 'migrations/0016_owed_and_anomalies.sql',
    from: 'update holds set amount_nanos = amount_nanos + granted, extension = e.extension where id = e.id;',
    to: 'update holds set amount_nanos = amount_nanos + granted where id = e.id;',
    test: 'test/integration/ledger.test.ts',
    title: 'an extension grows the hold while the wallet lasts, and sent again it grows it once',
  },
  {
    bug: 'of a late settle that the wallet could pay only in part, the whole bill is booked as absorbed on top of what was paid',
    file: 'migrations/0003_ledger_functions.sql',
    from: `s.bill_nanos - paid, 'absorbed', 'absorbed:' || s.id, s.id);`,
    to: `s.bill_nanos, 'absorbed', 'absorbed:' || s.id, s.id);`,
    test: 'test/integration/ledger.test.ts',
    title: 'a dead gateway’s holds are swept once, and its late settle is collected from what is available',
  },
  {
    bug: `what a payment provider takes back is taken from the wallet in full, also beyond what is left of that payment's credit`,
    file: 'migrations/0016_owed_and_anomalies.sql',
    from: `  due := greatest(least(amount, ledger_effect(project, credited)), 0);
`,
    to: `  due := greatest(amount, 0);
`,
    test: 'test/integration/ledger-operations.test.ts',
    title: 'a top-up that was taken back in part cannot be reversed in full',
  },
  {
    bug: 'new day partitions are made for charges and calls, but not for recommendations',
    file: 'migrations/0020_database_logins.sql',
    from: `foreach parent in array array['charges', 'calls', 'recommendations'] loop`,
    to: `foreach parent in array array['charges', 'calls'] loop`,
    test: 'test/integration/worker.test.ts',
    title: 'tables for the days to come are made two weeks ahead',
  },
  {
    bug: 'reversing a correction is checked against that correction alone and not against the call or transfer that it corrects',
    file: 'migrations/0016_owed_and_anomalies.sql',
    from: `  subject := coalesce(o.corrects, original);
`,
    to: `  subject := original;
`,
    test: 'test/integration/ledger-operations.test.ts',
    title: 'a late charge that was refunded cannot be reversed as well: a call never earns its caller credit',
  },
  {
    bug: 'changing the password ends all sessions, but not sign-ins that wait for their second step',
    file: 'src/store/credentials.ts',
    from: `  await endPendingSteps(tx, userId)
`,
    to: '',
    test: 'test/integration/pre-hijacking.test.ts',
    title: 'a password reset gets the owner of the address in, and leaves the stranger nothing to come back with',
  },
  {
    bug: 'the cursor of the calls log names the first call of the next page instead of the last one of this page',
    file: 'src/store/calls.ts',
    from: 'next: rows[search.most - 1]?.id, searchedTo: undefined }',
    to: 'next: rows[search.most]?.id, searchedTo: undefined }',
    test: 'test/integration/console-usage.test.ts',
    title: 'pages follow each other without gap or repetition',
  },
  {
    bug: 'of two events about a dispute that were made in the same second, the one of the earlier stage counts',
    file: 'src/store/payments.ts',
    from: 'order by s.told_at desc, s.stage desc, s.reinstated limit 1)',
    to: 'order by s.told_at desc, s.stage, s.reinstated limit 1)',
    test: 'test/integration/stripe-returns.test.ts',
    title: 'created needs_response, funds_withdrawn needs_response, closed won, funds_reinstated won',
  },
  {
    bug: 'the number of days ahead that have partitions is one too high, and 0 where even today has none',
    file: 'src/store/health.ts',
    from: `return (rows[0]?.missing ?? 0) - 1
`,
    to: `return rows[0]?.missing ?? 0
`,
    test: 'test/integration/doctor.test.ts',
    title: 'partitions that end the day after tomorrow are a problem while calls still work',
  },
  {
    bug: 'A deleted project is still found when somebody asks for it by its id',
    file: 'src/store/members.ts',
    from: `    .where('j.archived_at', 'is', null)
`,
    to: '',
    test: 'test/integration/store-scopes.test.ts',
    title: 'a project that was deleted is found for no member',
  },
  {
    bug: 'an item that another feed has had once is rejected for ever, also after that feed no longer has it',
    file: 'src/store/feed-staging.ts',
    from: `and o.feed_id <> \${feed.id} and o.removed_at is null\``,
    to: `and o.feed_id <> \${feed.id}\``,
    test: 'test/integration/feeds.test.ts',
    title: `an item belongs to one of an advertiser's feeds, and another may have it when the first has it no more`,
  },
  {
    bug: `anybody who is signed in can remove anybody's passkey by its id`,
    file: 'src/store/passkeys.ts',
    from: `db.deleteFrom('passkeys').where('user_id', '=', userId).where('id', '=', id).executeTakeFirst()`,
    to: `db.deleteFrom('passkeys').where('id', '=', id).executeTakeFirst()`,
    test: 'test/integration/passkeys.test.ts',
    title: 'nobody renames or removes a passkey of somebody else',
  },
  {
    bug: 'the job that shortens the time of stored text is never run',
    file: 'src/worker/worker.ts',
    from: `    repeat(EXPIRE_EVERY_MS, cutRetention, 'cut retention', log),
`,
    to: '',
    test: 'test/integration/worker.test.ts',
    title: 'the worker has these jobs, each with its period',
  },
  {
    bug: 'an alert that was told once is never armed again after a top-up',
    file: 'src/worker/low-balance.ts',
    from: `  await rearmAlerts(options.db)
`,
    to: '',
    test: 'test/integration/worker.test.ts',
    title: 'owners are told of a balance below their threshold, not of one at it, once until it has risen',
  },
  {
    bug: 'failed calls that were worth something but charged nothing count as billed',
    file: 'src/store/usage-roll-up.ts',
    from: `const billed = sql\`filter (where charged_nanos > 0)\``,
    to: `const billed = sql\`filter (where usage_nanos > 0)\``,
    test: 'test/integration/usage-roll-up.test.ts',
    title: 'roll-ups of random calls, late ones among them, equal sums over the ledger in every number',
  },
  {
    bug: `the second pass over a project's conversations, for calls that ran while its retention was shortened, never comes`,
    file: 'src/store/retention-cuts.ts',
    from: '    } else if (cut.is_last) {',
    to: '    } else if (!cut.is_last) {',
    test: 'test/integration/worker.test.ts',
    title: 'a shorter retention reaches the text that is there, once it is due and in its own project only',
  },
  {
    bug: 'the body of a mail stays in the outbox after it was sent',
    file: 'src/store/mails.ts',
    from: `.set({ sent_at: sql\`now()\`, sealed_body: null })`,
    to: `.set({ sent_at: sql\`now()\` })`,
    test: 'test/integration/worker.test.ts',
    title: 'mails are sent when they are due, and their text is erased',
  },
  {
    bug: 'counted attempts are forgotten after 1,000 days instead of one',
    file: 'src/store/throttles.ts',
    from: `where started_at < now() - \${keptMs} * interval '1 ms' limit`,
    to: `where started_at < now() - \${keptMs} * interval '1 second' limit`,
    test: 'test/integration/worker.test.ts',
    title: 'attempts are forgotten after a day, however many there are',
  },
  {
    bug: 'A run of the domain job checks ten domains at most, however many are due',
    file: 'src/worker/domains.ts',
    from: 'if (due.length < CHECKS_AT_ONCE) return',
    to: 'if (due.length <= CHECKS_AT_ONCE) return',
    test: 'test/integration/worker.test.ts',
    title: 'all domains that are due are checked in one turn, however many there are',
  },
]
