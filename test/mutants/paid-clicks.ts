import type { Mutant } from './mutant.ts'

const PAID = 'test/integration/clicks.test.ts'
const FOLLOWED = 'test/e2e/clicks.test.ts'

/** What clicks cost, and who gets it. */
export const PAID_CLICKS: Mutant[] = [
  {
    bug: 'a recommendation is paid for as often as it is clicked on',
    file: 'functions/clicks_decide.sql',
    from: 'where k.recommendation_id = c.recommendation_id and k.price_nanos > 0',
    to: 'where false',
    test: PAID,
    title: 'a recommendation is paid for once, however many clicks come at the same time',
  },
  {
    bug: 'the last click of a day may exceed the daily budget',
    file: 'functions/clicks_decide.sql',
    from: 'd.spent_nanos + c.price_nanos > m.daily_budget_nanos',
    to: 'd.spent_nanos > m.daily_budget_nanos',
    test: PAID,
    title: 'neither budget is ever exceeded, nor the credit, and the clicks beyond are free',
  },
  {
    bug: 'the total budget of a campaign is not looked at',
    file: 'functions/clicks_decide.sql',
    from: ' or t.spent_nanos + c.price_nanos > m.total_budget_nanos',
    to: '',
    test: PAID,
    title: 'neither budget is ever exceeded, nor the credit, and the clicks beyond are free',
  },
  {
    bug: 'clicks of one network are counted in all projects together',
    file: 'functions/clicks_decide.sql',
    from: 'k.project_id = c.project_id and k.network_tag',
    to: 'k.network_tag',
    test: PAID,
    title:
      'the sixth click of one network in ten minutes is too many, in one project; another network and a later one are not',
  },
  {
    bug: 'earnings are released at once',
    file: 'functions/earnings_release.sql',
    from: 'k.id < first_id_of(now() - pending_for)',
    to: 'k.id < first_id_of(now())',
    test: PAID,
    title: 'earnings are pending for seven days and then pay for calls, once, whoever releases them',
  },
  {
    bug: 'a campaign does not get its room back when a click is reversed',
    file: 'functions/click_reverse.sql',
    from: 'update campaign_totals t set spent_nanos = t.spent_nanos - k.price_nanos',
    to: 'update campaign_totals t set spent_nanos = t.spent_nanos',
    test: PAID,
    title: 'a click that turns out to be invalid is taken back whole, before and after its release, once',
  },
  {
    bug: 'nobody compares what advertisers have with their entries',
    file: 'src/store/billing/ledger-check/clicks.ts',
    from: 'where w.balance_nanos is distinct from coalesce(e.nanos, 0)',
    to: 'where false',
    test: PAID,
    title: 'what no longer fits together is noticed: a balance, earnings, a budget',
  },
  {
    bug: 'a reader is led on before the click is stored',
    file: 'src/gateway/recommendations/links.ts',
    from: 'await clicks.record(request, shown)',
    to: 'void clicks.record(request, shown)',
    test: FOLLOWED,
    title: 'a reader’s click is stored and paid for when the redirect arrives, and the second one is free',
  },
  {
    bug: 'whoever follows a link again and again fills the table',
    file: 'src/gateway/recommendations/clicks.ts',
    from: 'if (times > STORED_OF_ONE_MAX) return',
    to: 'if (times < 0) return',
    test: FOLLOWED,
    title: 'of what is followed again and again, only so much is stored',
  },
]
