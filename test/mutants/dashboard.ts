import type { Mutant } from './mutant.ts'

export const DASHBOARD: Mutant[] = [
  {
    bug: 'a count just below the next unit is written as 1000 of this one',
    file: 'dashboard/src/formats.ts',
    from: 'if (size < unit * 999.5)',
    to: 'if (size < unit * 1_000)',
    test: 'dashboard/src/formats.test.ts',
    title: 'a count is short, and one that is rounded never shows four digits',
  },
  {
    bug: 'a link with a name and a password in it is shown as one',
    file: 'dashboard/src/safe-text.ts',
    from: "  if (url.username !== '' || url.password !== '') return undefined\n",
    to: '',
    test: 'dashboard/src/safe-text.test.ts',
    title: 'an address that poses as another one is no link',
  },
  {
    bug: 'a range of the usage page is one hour or day too long',
    file: 'dashboard/src/pages/usage/ranges.ts',
    from: ' + unitMs - hours * HOUR_MS',
    to: ' - hours * HOUR_MS',
    test: 'dashboard/src/pages/usage/ranges.test.ts',
    title: 'a range of days is that many days in UTC, and today is one of them, to its last millisecond',
  },
  {
    bug: 'a period of the ledger is one day too long',
    file: 'dashboard/src/pages/wallet/periods.ts',
    from: 'today - (Number(days) - 1) * DAY_MS',
    to: 'today - Number(days) * DAY_MS',
    test: 'dashboard/src/pages/wallet/periods.test.ts',
    title: 'a period is that many days in UTC, and today is one of them, to its last millisecond',
  },
]
