import type { Mutant } from './mutant.ts'

/** Bugs through which strangers would learn something, or be told something wrong. */

const PAGES = 'test/integration/public-pages.test.ts'
const RULES = 'src/rules/upstreams/availability.test.ts'

export const PUBLIC_PAGES: Mutant[] = [
  {
    bug: 'the status page is there although nobody has switched it on',
    file: 'src/console/public/pages.ts',
    from: 'if (!hasStatus) return',
    to: '',
    test: PAGES,
    title:
      'by default strangers learn nothing: there is no status, and the front page has no figures and no link to it',
  },
  {
    bug: 'people who are signed in are shown the front page',
    file: 'src/console/public/pages.ts',
    from: 'front === undefined || hasCookie(request, sessionCookie)',
    to: 'front === undefined',
    test: PAGES,
    title: 'whoever has no session is shown the front page, and everybody else the app',
  },
  {
    bug: 'strangers can ask for as many pages as they like',
    file: 'src/console/public/visitors.ts',
    from: 'if (waitMs > 0) throw',
    to: 'if (waitMs < 0) throw',
    test: PAGES,
    title: 'a network that asks for more than fifty pages at once is told to wait, and others are not',
  },
  {
    bug: 'models are called answering although nobody has counted for minutes',
    file: 'src/console/public/status.ts',
    from: 'now.getTime() - through.getTime() <= CURRENT_MS',
    to: 'now.getTime() - through.getTime() >= 0',
    test: PAGES,
    title: 'when nobody has counted for five minutes, no model is said to be answering',
  },
  {
    bug: 'providers are named although the operator does not want it',
    file: 'src/console/public/status.ts',
    from: "(kind === 'model' ? served.has(name) : namesProviders)",
    to: "(kind === 'model' ? served.has(name) : true)",
    test: PAGES,
    title: 'providers are named only where the operator allows it, and models only while they can be called',
  },
  {
    bug: 'one publisher can have a model called down in public',
    file: 'src/rules/upstreams/availability.ts',
    from: 'return isOnesOwn ? null : failures / calls',
    to: 'return failures / calls',
    test: RULES,
    title: 'failures that one of several publishers saw are not told: they may come from what it asks for',
  },
  {
    bug: 'a rate is told of a handful of calls',
    file: 'src/rules/upstreams/availability.ts',
    from: 'if (calls < CALLS_MIN) return null',
    to: 'if (calls === 0) return null',
    test: RULES,
    title: 'a rate is told from 20 calls on',
  },
  {
    bug: 'what a publisher asks for wrongly makes a model look broken',
    file: 'src/store/billing/availability-roll-up.ts',
    from: 'where not (${FAILED} and last_failed is not null and last_failed in ${OWN})',
    to: 'where true',
    test: 'test/integration/availability-roll-up.test.ts',
    title: 'what failed because of the request says nothing of the model, nor of its provider',
  },
  {
    bug: 'the calls of the only large publisher are told to everybody',
    file: 'src/rules/public-figures.ts',
    from: 'rest < BLUR_MIN * largest ? null',
    to: 'rest < 0 ? null',
    test: 'src/rules/public-figures.test.ts',
    title: 'nothing is told where one publisher is most of it, not even to the second largest, who knows its own part',
  },
  {
    bug: 'figures are told of fewer than five publishers',
    file: 'src/rules/public-figures.ts',
    from: 'if (callsByPublisher.length < PUBLISHERS_MIN) return null',
    to: '',
    test: 'test/integration/availability-roll-up.test.ts',
    title: 'figures of the whole installation are added up from five publishers on, of the last 30 days',
  },
  {
    bug: 'a reply whose question is not kept is rehearsed as if nothing had been said before',
    file: 'src/rules/recommendations/rehearsal.ts',
    from: 'if (isNew && isLost) unread += 1',
    to: 'if (isNew && content === null) unread += 1',
    test: 'src/rules/recommendations/rehearsal.test.ts',
    title: 'what cannot be judged is counted, what is too long is said to be, and of neither any text goes on',
  },
  {
    bug: 'a rehearsal promises a thousand times what clicks may earn',
    file: 'src/rules/recommendations/rehearsal-figures.ts',
    from: '/ 10_000_000n',
    to: '/ 10_000n',
    test: 'src/rules/recommendations/rehearsal.test.ts',
    title: 'the range of earnings is few and many clicks times the prices and the share, and nothing is rounded up',
  },
  {
    bug: 'an ad library is public before its publisher opens it',
    file: 'src/store/recommendations/ad-library.ts',
    from: 'where p.id = ${projectId} and m.is_library_public and',
    to: 'where p.id = ${projectId} and',
    test: 'test/integration/ad-library.test.ts',
    title:
      'a library is nobody’s to see until its publisher opens it, is gone when it is closed, and both are in the log',
  },
]
