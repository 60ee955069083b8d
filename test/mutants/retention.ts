import type { Mutant } from './mutant.ts'

const TEST = 'test/integration/worker-retention.test.ts'
const CONVERSATIONS = 'src/store/calls/conversation-retention.ts'

const READINESS = 'src/store/readiness.ts'
const READINESS_TEST = 'test/integration/readiness.test.ts'
const EVERY = { file: 'src/platform/every.ts', test: 'src/platform/every.test.ts' }

export const RETENTION: Mutant[] = [
  {
    bug: 'a job that goes on failing is told of once',
    ...EVERY,
    from: '      if (nowMs - failure.toldAtMs < waitMs) return\n',
    to: '      if (waitMs > 0) return\n',
    title:
      'a job that goes on failing is told of after 1, 2, 4 … minutes and then every hour, with for how long; so is its end',
  },
  {
    bug: 'a job that fails looks as if it had succeeded',
    ...EVERY,
    from: '      metrics.jobFailures.inc({ job })\n',
    to: '      metrics.jobFailures.inc({ job })\n      metrics.jobSucceeded.set({ job }, Date.now() / 1_000)\n',
    title:
      'how often a job runs, fails and last succeeded, and how long it took, is measured; before its first success, since its start',
  },
  {
    bug: 'a job that never succeeded is not overdue',
    ...EVERY,
    from: `  // One that never succeeds is overdue as well, counted from its start.\n  metrics.jobSucceeded.set({ job }, Date.now() / 1_000)\n`,
    to: '',
    title:
      'how often a job runs, fails and last succeeded, and how long it took, is measured; before its first success, since its start',
  },
  {
    bug: 'a partition that is missing for tomorrow takes every gateway out today',
    file: READINESS,
    from: "\n          and day <= ((now() + ${TOMORROW_NEEDED}) at time zone 'utc')::date)",
    to: ')',
    test: READINESS_TEST,
    title: 'a day without a partition takes gateways out when it is today, or tomorrow within ten minutes of it',
  },
  {
    bug: 'a gateway without a partition for today says that it is ready',
    file: READINESS,
    from: 'isNeeded && writesCalls',
    to: '!isNeeded && writesCalls',
    test: READINESS_TEST,
    title: 'a day without a partition takes gateways out when it is today, or tomorrow within ten minutes of it',
  },
  {
    bug: 'only the functions that are called directly are looked for',
    file: READINESS,
    from: 'if (words.has(other.name)) needed.add(other.name)',
    to: 'if (words.has(other.name)) needed.delete(other.name)',
    test: READINESS_TEST,
    title: 'functions are needed with those that they call',
  },
  {
    bug: 'one slow answer of the database takes a console out',
    file: READINESS,
    from: 'performance.now() - reachedMs < UNREACHED_AFTER_MS',
    to: 'performance.now() - reachedMs < 1_000',
    test: READINESS_TEST,
    title: 'however often it is asked, the database is asked once in 15 s, and a slow answer or none changes nothing',
  },
  {
    bug: 'a matcher that is switched off takes the gateway beside it out',
    file: 'src/readiness.ts',
    from: 'roles.length === 1)',
    to: 'roles.length > 0)',
    test: READINESS_TEST,
    title: 'a matcher is ready with its index, and beside other roles it takes none of them out',
  },
  {
    bug: 'jobs of a worker that fail are not told by readiness',
    file: 'src/readiness.ts',
    from: 'warnings: [...warnings, ...more()]',
    to: 'warnings: more ? warnings : []',
    test: READINESS_TEST,
    title: 'jobs that fail are warned of and take nothing out: of a gateway, and of a worker',
  },
  {
    bug: 'a conversation is forgotten while its project still keeps text of that age',
    file: CONVERSATIONS,
    from: "greatest(p.content_retention_days * interval '1 day', ${keptMs} * interval '1 ms')",
    to: "${keptMs} * interval '1 ms'",
    test: TEST,
    title: 'a conversation goes 90 days after its last call, or when its project has promised to keep text no longer',
  },
  {
    bug: 'a conversation is forgotten with text that was promised to be kept',
    file: CONVERSATIONS,
    from: 'and m.content is not null and m.content_expires_at > now())',
    to: 'and false)',
    test: TEST,
    title: 'a conversation goes 90 days after its last call, or when its project has promised to keep text no longer',
  },
  {
    bug: 'the id of a deleted conversation is forgotten, and answers again',
    file: CONVERSATIONS,
    from: 'where c.project_id = p.id and c.deleted_at is null\n',
    to: 'where c.project_id = p.id\n',
    test: TEST,
    title: 'the id of a deleted conversation stays, however old, until its project has ended',
  },
  {
    bug: 'ids of deleted conversations go at once when their project ends',
    file: CONVERSATIONS,
    from: "where p.archived_at < now() - ${keptMs} * interval '1 ms' limit",
    to: "where p.archived_at < now() - ${keptMs} * interval '1 us' limit",
    test: TEST,
    title: 'the id of a deleted conversation stays, however old, until its project has ended',
  },
  {
    bug: 'old messages go with the text that they still have',
    file: CONVERSATIONS,
    from: ' and m.content is null\n        limit',
    to: '\n        limit',
    test: TEST,
    title: 'in a conversation that goes on for years, what was said over a year ago goes, once its text is gone',
  },
  {
    bug: 'of a conversation with many old messages, the first thousand go',
    file: CONVERSATIONS,
    from: '  if (erased === most) return { reached: from, erased }\n',
    to: '',
    test: TEST,
    title: 'in a conversation that goes on for years, what was said over a year ago goes, once its text is gone',
  },
  {
    bug: 'sums go before their conversation was stored',
    file: CONVERSATIONS,
    from: "c.id > first_id_of(now() - interval '1 day')",
    to: 'false',
    test: TEST,
    title: 'sums without a conversation go, unless it may still be on its way',
  },
  {
    bug: 'the newest run of a feed goes, too',
    file: 'src/store/offers/feeds.ts',
    from: '        and exists (select from feed_runs l where l.feed_id = r.feed_id and l.started_at > r.started_at)\n',
    to: '',
    test: TEST,
    title: 'feed runs go after 90 days, but the newest of a feed stays',
  },
  {
    bug: 'an offer that a person rejected is forgotten, and comes back approved',
    file: 'src/store/offers/offers.ts',
    from: "and not (review = 'rejected' and reviewed_at is not null) limit",
    to: 'limit',
    test: TEST,
    title: 'offers go a month after they were removed, but not one that a person rejected',
  },
  {
    bug: 'offers are erased while recommendations still need their headlines',
    file: 'src/store/recommendations/records.ts',
    from: 'where s.headline is null and r.id = s.id)',
    to: 'where false and r.id = s.id)',
    test: TEST,
    title: 'what was recommended stays readable when its offer is erased, also what the version before wrote',
  },
  {
    bug: "vectors of campaigns' hints are erased again and again",
    file: 'src/store/offers/text-vectors.ts',
    from: 'unnest(c.context_hints || c.negative_hints)',
    to: 'unnest(c.context_hints)',
    test: TEST,
    title: 'vectors go when no offer and no hint has their text any more, however many there are',
  },
  {
    bug: 'a matcher that was away goes on with offers that are erased',
    file: 'src/recommend/offer-index/following.ts',
    from: 'isSame && !isTooOld &&',
    to: 'isSame &&',
    test: 'test/integration/following.test.ts',
    title:
      'a matcher that was away for longer than removed offers are kept builds anew: nothing tells of what was erased',
  },
  {
    bug: 'hours that are erased are shown as hours without a call',
    file: 'src/rules/billing/usage-spans.ts',
    from: ' && fromMs >= firstHourMs',
    to: '',
    test: 'src/rules/billing/usage-spans.test.ts',
    title: 'what is older than the hours that are kept is shown by day, and is refused by hour',
  },
]
