import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALERT_KINDS, changesOf, judge, measuredOfModel, ruleIn, sentenceOfAlert, type ProjectFacts } from './alerts.ts'
import { NOTHING_COUNTED } from './billing/limits.ts'

const CREDIT = 1_000_000_000n
const QUIET: ProjectFacts = {
  isSandbox: false,
  balance: 100n * CREDIT,
  walletAlert: null,
  calls: 0,
  failures: 0,
  spentToday: 0n,
  spentBefore: 0n,
  domain: 'example.com',
  domainFailingSince: null,
  budgets: [],
  models: [],
}

function stateOf(
  kind: string,
  facts: Partial<ProjectFacts>,
  rules: Parameters<typeof judge>[1] = [],
  isCurrent = true,
) {
  return judge({ ...QUIET, ...facts }, rules, isCurrent).find((each) => each.kind === kind)?.state
}

const budgetOf = (spent: bigint) => ({
  ...NOTHING_COUNTED,
  scope: 'project' as const,
  subject: 'p',
  name: '',
  day_nanos: null,
  week_nanos: null,
  month_nanos: 100n,
  total_nanos: null,
  month_spent: spent,
})
const measured = (failures: number, calls = 100) => ({ calls, failures, callers: 3n, failedFor: 3n })

test('each rule opens at its threshold, closes well below it, and leaves things alone in between', () => {
  const states = (kind: string, ...facts: Partial<ProjectFacts>[]) => facts.map((each) => stateOf(kind, each))
  const errors = (failures: number) => ({ calls: 100, failures })
  assert.deepEqual(states('error_rate', errors(20), errors(19), errors(10), errors(9)), [
    'over',
    'between',
    'between',
    'under',
  ])
  assert.equal(stateOf('error_rate', { calls: 19, failures: 19 }), 'under')
  const spent = (credits: bigint) => ({ spentToday: credits * CREDIT, spentBefore: 7n * CREDIT })
  assert.deepEqual(states('spend_spike', spent(4n), spent(3n), spent(2n)), ['over', 'between', 'under'])
  assert.equal(stateOf('spend_spike', { spentToday: 50n * CREDIT }), 'between')
  const balance = (nanos: bigint) => ({ balance: nanos, walletAlert: 100n })
  assert.deepEqual(states('low_balance', balance(99n), balance(100n), balance(109n), balance(110n)), [
    'over',
    'between',
    'between',
    'under',
  ])
  const budget = (nanos: bigint) => ({ budgets: [budgetOf(nanos)] })
  assert.deepEqual(states('budget_used', budget(80n), budget(79n), budget(72n), budget(71n)), [
    'over',
    'between',
    'between',
    'under',
  ])
  const model = (failures: number) => ({ models: [{ model: 'm', measured: measured(failures) }] })
  assert.deepEqual(states('provider_down', model(50), model(49), model(25), model(24)), [
    'over',
    'between',
    'between',
    'under',
  ])
  assert.deepEqual(states('domain_lapsing', { domainFailingSince: new Date(0) }, {}), ['over', 'under'])
})

test('a budget of nothing is never used up', () => {
  assert.equal(stateOf('budget_used', { budgets: [{ ...budgetOf(0n), month_nanos: 0n }] }), undefined)
})

test('a project that never had credit, or that nobody uses, has no low balance', () => {
  assert.equal(stateOf('low_balance', { balance: 0n }), 'between')
  assert.equal(stateOf('low_balance', { balance: 0n, spentBefore: 1n }), 'over')
})

test('the trial credit of a sandbox is low from its first call, and nobody is told unless they asked for it', () => {
  const trial = { isSandbox: true, balance: CREDIT - 1n, spentToday: 1n }
  assert.equal(stateOf('low_balance', trial), 'between')
  assert.equal(stateOf('low_balance', { ...trial, walletAlert: CREDIT }), 'over')
})

test('while calls are not added up, what is judged by them stays as it is', () => {
  const facts = { calls: 100, failures: 100, models: [{ model: 'm', measured: measured(100) }] }
  for (const kind of ['error_rate', 'spend_spike', 'provider_down'])
    assert.equal(stateOf(kind, facts, [], false), 'unknown')
  const open = [{ id: '1', kind: 'error_rate', subject: '' }]
  assert.deepEqual(changesOf(open, judge({ ...QUIET, ...facts }, [], false)), { opens: [], closes: [] })
})

test('a rule that is off judges nothing, which closes what is open; a threshold of its own counts', () => {
  const off = [{ kind: 'error_rate', enabled: false, threshold: null }]
  assert.equal(stateOf('error_rate', { calls: 100, failures: 100 }, off), undefined)
  const open = [{ id: '1', kind: 'error_rate', subject: '' }]
  assert.deepEqual(changesOf(open, judge(QUIET, off, true)).closes, open)
  const own = [{ kind: 'error_rate', enabled: true, threshold: 50n }]
  assert.equal(stateOf('error_rate', { calls: 100, failures: 49 }, own), 'between')
  for (const kind of ALERT_KINDS) assert.equal(ruleIn([], kind).isOn, true)
})

test('what is open is not opened again, and what is in between is not closed', () => {
  const found = judge({ ...QUIET, calls: 100, failures: 50 }, [], true)
  assert.deepEqual(
    changesOf([], found).opens.map(({ kind }) => kind),
    ['error_rate'],
  )
  const open = [{ id: '1', kind: 'error_rate', subject: '' }]
  assert.deepEqual(changesOf(open, found), { opens: [], closes: [] })
  assert.deepEqual(changesOf(open, judge({ ...QUIET, calls: 100, failures: 15 }, [], true)).closes, [])
})

test('a model that few have called is judged by the best of its providers', () => {
  const answered = (failures: number, calls?: number) => ({
    newest: measured(failures, calls),
    hour: measured(failures, calls),
  })
  assert.equal(measuredOfModel(answered(60), [answered(0)]).failures, 60)
  assert.equal(measuredOfModel(answered(5, 5), [answered(90), answered(60)]).failures, 60)
  assert.equal(measuredOfModel(undefined, [answered(90), undefined]).calls, 0)
  assert.equal(measuredOfModel(undefined, []).calls, 0)
})

test('every alert has a sentence that names its figures', () => {
  const budget = {
    scope: 'key_pair',
    name: 'web',
    period: 'month',
    percent: 80,
    spent_nanos: '80',
    budget_nanos: '100',
  }
  assert.equal(
    sentenceOfAlert('budget_used', budget),
    '80% of the monthly budget of the key pair “web” is spent: $0.00000008 of $0.0000001.',
  )
  assert.match(sentenceOfAlert('error_rate', { failures: 3, calls: 9, percent: 33.3 }), /^3 of 9 calls failed/)
  assert.match(sentenceOfAlert('provider_down', { model: 'm', percent: 70 }), /calls to m fail/)
})
