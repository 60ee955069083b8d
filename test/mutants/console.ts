import type { Mutant } from './mutant.ts'

export const CONSOLE: Mutant[] = [
  {
    bug: 'a session that is used lasts for ever',
    file: 'src/console/route.ts',
    from: '  if (Date.now() - session.createdAt.getTime() > SESSION_LONGEST_MS) return undefined\n',
    to: '',
    test: 'test/integration/console-accounts.test.ts',
    title: 'a session ends seven days after signing in, however much it is used',
  },
  {
    bug: 'a session lasts for a week without being used',
    file: 'src/console/auth.ts',
    from: 'const IDLE_S = 12 * HOUR_S',
    to: 'const IDLE_S = 7 * 24 * HOUR_S',
    test: 'test/integration/console-accounts.test.ts',
    title: 'a session ends twelve hours after it was last used; use renews it, once an hour',
  },
]
