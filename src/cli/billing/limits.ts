import type { Command } from 'commander'
import { setLimits, type LimitChanges } from '../../actions/billing/limits.ts'
import { budgetsIn, nextMinuteOf, ratesIn, renewalOf } from '../../rules/billing/limits.ts'
import { formatCredits, type Nanos } from '../../rules/money.ts'
import { findCountedLimits, findCredits } from '../../store/billing/limits.ts'
import type { Db } from '../../store/database.ts'
import { budgetOf, limitUpTo, type Limit } from '../arguments.ts'
import { CliError, orUnknown } from '../failures.ts'
import { table, type Output } from '../print.ts'
import { addChange, addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'
import { subjectOf, withSubject, type NamedSubject, type SubjectOptions } from './limit-subjects.ts'

const INT4_MAX = 2_147_483_647

export function addLimitCommands(program: Command): void {
  const limits = program.command('limits').description('rates and hard money budgets that publishers set')
  withSubject(
    addCommand(
      limits,
      'show',
      'show each limit, and how much of it is used and left',
      `parley limits show --project ${EXAMPLE_ID}`,
    ),
  ).action(withStore(show))
  withSubject(
    addChange(
      limits,
      'set',
      'set some limits; the others stay as they are',
      `parley limits set --end-users ${EXAMPLE_ID} --day 0.50`,
    ),
  )
    .option('--requests-per-minute <n>', 'a limit, or "none"', limitUpTo(INT4_MAX))
    .option('--tokens-per-minute <n>', 'a limit, or "none"', limitUpTo(Number.MAX_SAFE_INTEGER))
    .option('--concurrent-calls <n>', 'a limit, or "none"', limitUpTo(INT4_MAX))
    .option('--day <credits>', 'a budget per UTC day, or "none"', budgetOf)
    .option('--week <credits>', 'a budget per week (from Monday), or "none"', budgetOf)
    .option('--month <credits>', 'a budget per calendar month, or "none"', budgetOf)
    .option('--total <credits>', 'a budget that never resets, or "none"', budgetOf)
    .action(withStore(set))
}

interface SetOptions extends SubjectOptions {
  requestsPerMinute?: Limit
  tokensPerMinute?: Limit
  concurrentCalls?: Limit
  day?: Nanos | 'none'
  week?: Nanos | 'none'
  month?: Nanos | 'none'
  total?: Nanos | 'none'
}

async function set({ db, actor, change }: Session, options: SetOptions): Promise<Output> {
  const tokens = columnOf(options.tokensPerMinute)
  const limits: LimitChanges = {
    requests_per_minute: columnOf(options.requestsPerMinute),
    tokens_per_minute: typeof tokens === 'number' ? BigInt(tokens) : tokens,
    concurrent_calls: columnOf(options.concurrentCalls),
    day_nanos: columnOf(options.day),
    week_nanos: columnOf(options.week),
    month_nanos: columnOf(options.month),
    total_nanos: columnOf(options.total),
  }
  if (Object.values(limits).every((limit) => limit === undefined))
    throw new CliError('Nothing to change. Run "parley limits set --help" to see the options.')
  const named = await subjectOf(db, options)
  await change((tx) => setLimits(tx, actor, { of: named.of, limits })).catch(
    orUnknown('publisher', options.publisher ?? ''),
  )
  return outputOf(db, named)
}

function columnOf<Value>(given: Value | 'none' | undefined): Value | null | undefined {
  return given === 'none' ? null : given
}

async function show({ db }: Session, options: SubjectOptions): Promise<Output> {
  return outputOf(db, await subjectOf(db, options))
}

type Line = {
  limit: string
  'set by': 'operator' | 'publisher'
  allowed: string
  used: string
  left: string
  resets: Date | null
}

async function outputOf(db: Db, { subject, projectId }: NamedSubject): Promise<Output> {
  const now = new Date()
  const [counted] = await findCountedLimits(db, projectId ?? subject.subject, [subject])
  if (!counted) throw new Error('a subject has no limits to show')
  const { own, state } = counted
  const operator = subject.scope === 'project' ? (await findCredits(db, subject.subject))?.rates : undefined
  // Limits of end users apply to each of them separately, so no usage is shown.
  const isShared = subject.scope === 'end_users'
  const rates = (rows: ReturnType<typeof ratesIn>, by: Line['set by']): Line[] =>
    rows.map(({ name, limit, used, left }) => ({
      limit: name === 'calls' ? 'concurrent calls' : `${name} per minute`,
      'set by': by,
      allowed: String(limit),
      used: isShared ? '' : String(used),
      left: isShared ? '' : String(left),
      resets: name === 'calls' ? null : nextMinuteOf(now),
    }))
  const budgets = budgetsIn(state).map(({ period, limit, spent, left }): Line => ({
    limit: `budget (${period})`,
    'set by': 'publisher',
    allowed: formatCredits(limit),
    used: isShared ? '' : formatCredits(spent),
    left: isShared ? '' : formatCredits(left),
    resets: renewalOf(period, now) ?? null,
  }))
  const lines = [
    ...(operator ? rates(ratesIn(operator), 'operator') : []),
    ...rates(ratesIn(state), 'publisher'),
    ...budgets,
  ]
  return {
    document: { ...subject, limits: own, state, operator: operator ?? null },
    text: table(lines, 'There are no limits. Set some with: parley limits set'),
  }
}
