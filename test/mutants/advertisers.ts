import type { Mutant } from './mutant.ts'

const TENANCY = 'test/integration/advertiser-tenancy.test.ts'
const CONSOLE = 'test/integration/console-advertisers.test.ts'

/** Advertisers in the console: the wall between them, their money, and who is activated. */
export const ADVERTISERS: readonly Mutant[] = [
  {
    bug: 'an advertiser acts under the role of publishers',
    file: 'src/store/tenancy.ts',
    from: "? 'parley_advertiser' : 'parley_tenant'",
    to: "? 'parley_tenant' : 'parley_tenant'",
    test: TENANCY,
    title: 'an advertiser reads these tables and no others: nothing of what was said, of calls or of projects',
  },
  {
    bug: 'an advertiser sees the movements of every account',
    file: 'functions/advertiser_movements.sql',
    from: 'join transfers t on a.id in (t.debit_account, t.credit_account)',
    to: 'join transfers t on true',
    test: TENANCY,
    title: 'its movements are its own, and name neither a project nor a click',
  },
  {
    bug: 'what a dispute takes from an advertiser may be more than there is',
    file: 'functions/ledger_settle_advertiser_returns.sql',
    from: 'least(missing, w.balance_nanos, ledger_effect',
    to: 'least(missing, ledger_effect',
    test: CONSOLE,
    title: 'a refund is taken back once, never below zero, and a dispute that ended well gives it again',
  },
  {
    bug: 'what was refunded during a dispute comes back with it',
    file: 'functions/ledger_settle_advertiser_returns.sql',
    from: "(t.kind = 'absorbed' and",
    to: '(false and',
    test: CONSOLE,
    title: 'what was refunded during a dispute does not come back to an advertiser with it',
  },
  {
    bug: 'an advertiser has as many campaigns as it likes, and the room for hints of all others',
    file: 'src/actions/offers/campaigns.ts',
    from: '>= CAMPAIGNS_MAX',
    to: '< 0',
    test: CONSOLE,
    title: 'an advertiser has a hundred campaigns at most, also when it asks for the last one many times at once',
  },
  {
    bug: 'who signs up and goes again keeps the names of others',
    file: 'src/actions/accounts/advertiser-members.ts',
    from: '    await forgetAdvertiser(tx, id)',
    to: '',
    test: CONSOLE,
    title: 'who signs names up and goes keeps them from nobody; what was activated, has paid or is about to pay stays',
  },
  {
    bug: 'an advertiser is activated though nobody has verified its domain',
    file: 'src/actions/offers/advertisers.ts',
    from: 'if (!isVouched) throw conflict',
    to: 'if (isVouched) throw conflict',
    test: CONSOLE,
    title:
      'an advertiser is activated once its domain is verified by its record, and before only by an operator who vouches for it',
  },
  {
    bug: 'the last admin of an advertiser may go',
    file: 'src/actions/accounts/advertiser-members.ts',
    from: 'if (admins.length > 1 || !admins.includes(userId)) return',
    to: 'if (admins.length > 0) return',
    test: CONSOLE,
    title: 'the last admin stays, and who is removed has no access from then on',
  },
]
