import { budgetsIn, type BudgetState } from './billing/limits.ts'
import { formatCredits, NANOS_PER_CREDIT, type Nanos } from './money.ts'
import { DOWN_FROM, failureRateOf, CALLS_MIN, type Measured } from './upstreams/availability.ts'

/** When a project is in trouble that its publisher should hear of: what opens an alert, what closes it, and what it says. */

export const ALERT_KINDS = [
  'error_rate',
  'spend_spike',
  'low_balance',
  'budget_used',
  'domain_lapsing',
  'provider_down',
] as const
export type AlertKind = (typeof ALERT_KINDS)[number]

interface AlertRule {
  title: string
  explanation: string
  /** Null: nothing to choose here. */
  threshold: { unit: '%' | '×'; usual: bigint; least: bigint; most: bigint } | null
}

export const ALERT_RULES: Record<AlertKind, AlertRule> = {
  error_rate: {
    title: 'Error rate',
    explanation: 'This share of at least 20 calls failed in this hour and the one before.',
    threshold: { unit: '%', usual: 20n, least: 1n, most: 100n },
  },
  spend_spike: {
    title: 'Spend spike',
    explanation: 'Today has cost more than $1 and this many times the daily average of the last seven days.',
    threshold: { unit: '×', usual: 3n, least: 2n, most: 100n },
  },
  low_balance: {
    title: 'Low balance',
    explanation: 'The balance is below the amount of the low-balance email, or below $1 if none is set.',
    threshold: null,
  },
  budget_used: {
    title: 'Budget used',
    explanation: 'This share of the project’s or a key pair’s budget is spent.',
    threshold: { unit: '%', usual: 80n, least: 1n, most: 100n },
  },
  domain_lapsing: {
    title: 'Domain lapsing',
    explanation: 'The proof of the domain is missing. The domain lapses unless you put it back.',
    threshold: null,
  },
  provider_down: {
    title: 'Model failing',
    explanation: 'This share of everyone’s calls fails, for a model that the project called in the last day.',
    threshold: { unit: '%', usual: BigInt(DOWN_FROM * 100), least: 10n, most: 100n },
  },
}

/** A project's own setting of a rule. A rule without one is on with its usual threshold. */
export interface ChosenRule {
  kind: string
  enabled: boolean
  threshold: bigint | null
}

export function ruleIn(
  chosen: readonly ChosenRule[],
  kind: AlertKind,
): { isOn: boolean; threshold: bigint | null; isUsual: boolean } {
  const own = chosen.find((rule) => rule.kind === kind)
  const usual = ALERT_RULES[kind].threshold?.usual ?? null
  return {
    isOn: own?.enabled ?? true,
    threshold: usual === null ? null : (own?.threshold ?? usual),
    isUsual: (own?.threshold ?? null) === null,
  }
}

export interface ProjectFacts {
  isSandbox: boolean
  balance: Nanos
  /** The threshold of the low-balance email. Null: there is no such email. */
  walletAlert: Nanos | null
  /** In this hour and the one before. */
  calls: number
  failures: number
  spentToday: Nanos
  /** In the seven days before today. */
  spentBefore: Nanos
  domain: string
  domainFailingSince: Date | null
  budgets: (BudgetState & { scope: 'project' | 'key_pair'; subject: string; name: string })[]
  /** Models that were called in the last day, and how they answer everyone now. */
  models: { model: string; measured: Measured }[]
}

export interface AlertFacts {
  [name: string]: string | number | boolean
}

/**
 * `over` opens an alert, `under` closes it. Between the two, whatever is stays: a value that goes up and down around its
 * threshold opens one alert and not a hundred. `unknown`: nobody has counted lately.
 */
export interface Judged {
  kind: AlertKind
  /** Tells apart several alerts of one kind; empty: the alert is about the project itself. */
  subject: string
  state: 'over' | 'between' | 'under' | 'unknown'
  facts: AlertFacts
}

const DAYS_BEFORE = 7n
const SPIKE_LEAST = NANOS_PER_CREDIT
const LOW_BALANCE_USUAL = NANOS_PER_CREDIT

/** Everything that could be an alert of rules that are on. `isCurrent`: what was called lately is added up. */
export function judge(project: ProjectFacts, chosen: readonly ChosenRule[], isCurrent: boolean): Judged[] {
  return ALERT_KINDS.flatMap((kind) => {
    const { isOn, threshold } = ruleIn(chosen, kind)
    return isOn ? JUDGES[kind](project, threshold ?? 0n, isCurrent) : []
  })
}

type Judge = (project: ProjectFacts, threshold: bigint, isCurrent: boolean) => Judged[]

const JUDGES: Record<AlertKind, Judge> = {
  error_rate({ calls, failures }, threshold, isCurrent) {
    const percent = calls < CALLS_MIN ? 0 : (failures / calls) * 100
    const facts = { calls, failures, percent: rounded(percent), threshold: Number(threshold) }
    return [judged('error_rate', '', isCurrent ? aroundHalf(percent, Number(threshold)) : 'unknown', facts)]
  },
  spend_spike({ spentToday, spentBefore }, threshold, isCurrent) {
    const usual = spentBefore / DAYS_BEFORE
    const isOver = spentToday > SPIKE_LEAST && usual > 0n && spentToday > usual * threshold
    // A day's spending only grows, so this closes when the day ends or the threshold is raised.
    const isUnder = spentToday * 10n < usual * threshold * 8n || spentToday <= SPIKE_LEAST
    const state = isOver ? 'over' : isUnder ? 'under' : 'between'
    const facts = { today_nanos: String(spentToday), usual_nanos: String(usual), threshold: Number(threshold) }
    return [judged('spend_spike', '', isCurrent ? state : 'unknown', facts)]
  },
  low_balance({ isSandbox, balance, walletAlert, spentToday, spentBefore }) {
    const threshold = walletAlert ?? LOW_BALANCE_USUAL
    // A project that nobody uses, or that never had credit, is no news; trial credit is low from the start, and meant to be used up.
    const isUsed = walletAlert !== null || (!isSandbox && spentToday + spentBefore > 0n)
    const isOver = balance < threshold && isUsed
    const state = isOver ? 'over' : balance * 10n >= threshold * 11n ? 'under' : 'between'
    return [judged('low_balance', '', state, { balance_nanos: String(balance), threshold_nanos: String(threshold) })]
  },
  budget_used({ budgets }, threshold) {
    return budgets.flatMap((budget) =>
      // A budget of nothing is a way to switch something off: nothing of it is ever used.
      budgetsIn(budget).flatMap(({ period, limit, spent }) => {
        if (limit === 0n) return []
        const percent = Number((spent * 1_000n) / limit) / 10
        const state = percent >= Number(threshold) ? 'over' : percent < Number(threshold) * 0.9 ? 'under' : 'between'
        const amounts = { spent_nanos: String(spent), budget_nanos: String(limit) }
        const facts = {
          scope: budget.scope,
          name: budget.name,
          period,
          ...amounts,
          percent,
          threshold: Number(threshold),
        }
        return judged('budget_used', `${budget.scope}:${budget.subject}:${period}`, state, facts)
      }),
    )
  },
  domain_lapsing({ domain, domainFailingSince }) {
    const facts = { domain, ...(domainFailingSince && { failing_since: domainFailingSince.toISOString() }) }
    return [judged('domain_lapsing', domain, domainFailingSince ? 'over' : 'under', facts)]
  },
  provider_down({ models }, threshold, isCurrent) {
    return models.map(({ model, measured }) => {
      const percent = (failureRateOf(measured) ?? 0) * 100
      const facts = { model, percent: rounded(percent), threshold: Number(threshold) }
      return judged('provider_down', model, isCurrent ? aroundHalf(percent, Number(threshold)) : 'unknown', facts)
    })
  },
}

function judged(kind: AlertKind, subject: string, state: Judged['state'], facts: AlertFacts): Judged {
  return { kind, subject, state, facts }
}

/** It is over when it is half as bad. */
function aroundHalf(percent: number, threshold: number): Judged['state'] {
  return percent >= threshold ? 'over' : percent < threshold / 2 ? 'under' : 'between'
}

function rounded(percent: number): number {
  return Math.round(percent * 10) / 10
}

export interface OpenAlert {
  id: string
  kind: string
  subject: string
}

/** An alert whose rule is off, or whose budget or model is gone, has nothing left to tell. */
export function changesOf(
  open: readonly OpenAlert[],
  found: readonly Judged[],
): { opens: Judged[]; closes: OpenAlert[] } {
  const openKeys = new Set(open.map(keyOf))
  const states = new Map(found.map((each) => [keyOf(each), each.state]))
  return {
    opens: found.filter((each) => each.state === 'over' && !openKeys.has(keyOf(each))),
    closes: open.filter((each) => (states.get(keyOf(each)) ?? 'under') === 'under'),
  }
}

function keyOf({ kind, subject }: { kind: string; subject: string }): string {
  return `${kind} ${subject}`
}

const PERIOD_WORDS: Record<string, string> = { day: 'daily', week: 'weekly', month: 'monthly', total: 'total' }

/** Says in one sentence what has happened: in mails, in the console and in events. */
export function sentenceOfAlert(kind: string, facts: AlertFacts): string {
  const money = (name: string) => formatCredits(BigInt(String(facts[name] ?? 0)))
  switch (kind) {
    case 'error_rate':
      return `${facts['failures']} of ${facts['calls']} calls failed in this hour and the one before (${facts['percent']}%).`
    case 'spend_spike':
      return `Today has cost ${money('today_nanos')} so far; the average of the seven days before is ${money('usual_nanos')}.`
    case 'low_balance':
      return `The balance has fallen below ${money('threshold_nanos')}: ${money('balance_nanos')} is left.`
    case 'budget_used': {
      const owner = facts['scope'] === 'key_pair' ? `the key pair “${facts['name']}”` : 'the project'
      const period = PERIOD_WORDS[String(facts['period'])] ?? String(facts['period'])
      return `${facts['percent']}% of the ${period} budget of ${owner} is spent: ${money('spent_nanos')} of ${money('budget_nanos')}.`
    }
    case 'domain_lapsing':
      return `The proof of ${facts['domain']} is missing.`
    case 'provider_down':
      return `${facts['percent']}% of everyone’s calls to ${facts['model']} fail.`
    default:
      return 'Something needs your attention.'
  }
}

/** How something answered: in the newest slot, and in the last hour. */
interface Answered {
  newest: Measured
  hour: Measured
}

/**
 * How a model answers everyone now. Where too few have called it to tell, by the provider that does best of those that serve it:
 * as long as one of them answers, so does the model.
 */
export function measuredOfModel(model: Answered | undefined, providers: readonly (Answered | undefined)[]): Measured {
  const own = model && telling(model)
  if (own && own.calls >= CALLS_MIN) return own
  const others = providers.map((each) => each && telling(each))
  const rated = others.map((each) => (each ? (failureRateOf(each) ?? 0) : 0))
  return others[rated.indexOf(Math.min(...rated))] ?? NOTHING_MEASURED
}

const NOTHING_MEASURED: Measured = { calls: 0, failures: 0, callers: 0n, failedFor: 0n }

function telling({ newest, hour }: Answered): Measured {
  return newest.calls >= CALLS_MIN ? newest : hour
}
