import type { RehearsalResult } from '../../recommend/rehearsal.ts'
import { matcherTokenOf } from '../../recommend/wire.ts'
import { formatCredits } from '../../rules/money.ts'
import { CLICKS_PER_THOUSAND } from '../../rules/recommendations/rehearsal-figures.ts'
import { CliError } from '../failures.ts'
import { facts, table, type Output } from '../print.ts'
import { projectOf } from '../project-at-hand.ts'
import type { Session } from '../session.ts'

/** The figures of the Monetization page. Of what people have said, operators are shown nothing. */
export async function rehearseProject(session: Session, projectId: string): Promise<Output> {
  const { db, config } = session
  const project = await projectOf(db, projectId)
  const secrets = await session.openSecrets()
  // Loaded only when used: what speaks to matchers would make every other command slower.
  const { rehearse } = await import('../../recommend/rehearsal.ts')
  const { createRehearsalClient } = await import('../../recommend/rehearsal-client.ts')
  const client = createRehearsalClient({ url: config.PARLEY_MATCHER_URL, token: matcherTokenOf(secrets) })
  const inTransaction = <T>(work: (tx: typeof db) => Promise<T>) => db.transaction().execute(work)
  const { signal } = new AbortController()
  const whose = { projectId: project.id, publisherId: project.publisher_id }
  try {
    for await (const step of rehearse({ client, ...whose, inTransaction, signal }))
      if ('result' in step) return outputOf(step.result)
    throw new CliError('The rehearsal ended without a result.')
  } catch (error) {
    const reason = (error as { reason?: keyof typeof REFUSALS }).reason
    throw reason === undefined ? error : new CliError(REFUSALS[reason])
  } finally {
    await client.close()
  }
}

const REFUSALS = {
  project_busy: 'A rehearsal of this project is already running. Wait until it has ended.',
  matcher_busy: 'Other projects are being rehearsed. Try again in a minute.',
  unavailable: 'No matcher answered at PARLEY_MATCHER_URL, or none is ready. Start one with: parley serve matcher',
}

function outputOf(result: RehearsalResult): Output {
  const { looked, replies, recommended, unread, outcomes, advertisers, categories, clickPrice, earnings } = result
  const document = {
    conversations: { looked_at: looked.conversations, of: looked.of, is_more: looked.isMore },
    replies,
    replies_without_text: unread,
    recommended,
    outcomes: outcomes.map((each) => ({ outcome: each.outcome, replies: each.replies })),
    advertisers,
    categories,
    click_price_nanos: clickPrice && {
      least: clickPrice.leastNanos,
      mean: clickPrice.meanNanos,
      most: clickPrice.mostNanos,
    },
    earnings_nanos: { few_clicks: earnings.fewNanos, many_clicks: earnings.manyNanos },
    clicks_per_thousand: CLICKS_PER_THOUSAND,
    share_bps: earnings.shareBps,
  }
  const { few, many } = CLICKS_PER_THOUSAND
  const summary = facts({
    'conversations of the last 30 days': `${looked.conversations} of ${looked.isMore ? 'more than ' : ''}${looked.of}, newest first`,
    'replies that could be judged': replies,
    'replies without text': unread,
    'with a recommendation': recommended,
    'price of a click': clickPrice
      ? `${formatCredits(clickPrice.leastNanos)} to ${formatCredits(clickPrice.mostNanos)}, ${formatCredits(clickPrice.meanNanos)} on average`
      : null,
    [`share at ${few} to ${many} clicks for 1,000`]: `${formatCredits(earnings.fewNanos)} to ${formatCredits(earnings.manyNanos)}`,
  })
  const reasons = outcomes.map((each) => ({ reason: each.title, replies: each.replies }))
  const parts = [
    table(reasons, 'There is no reply to judge.'),
    table(
      advertisers.map(({ name, replies: shown }) => ({ advertiser: name, replies: shown })),
      'No advertiser would have been recommended.',
    ),
    table(
      categories.map(({ name, replies: shown }) => ({ category: name, replies: shown })),
      'No category would have been recommended.',
    ),
  ]
  return { document, text: [summary, ...parts].join('\n\n') }
}
