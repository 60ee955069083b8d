import type { Command } from 'commander'
import { setRecommendationSwitch } from '../../actions/recommendations/switch.ts'
import { countPendingOffers } from '../../store/offers/offers.ts'
import { countStoppedOffers } from '../../store/recommendations/reader-reports.ts'
import { listMatchers, readRecommendationSwitch } from '../../store/recommendations/switch.ts'
import { ago, facts, table, type Output } from '../print.ts'
import { addChange, addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'
import { rehearseProject } from './rehearse.ts'

/** A matcher says every 5 s that it lives. */
const SILENT_AFTER_MS = 20_000

export function addRecommendationCommands(program: Command): void {
  const recommendations = program
    .command('recommendations')
    .description('product recommendations, for the whole installation')
  addChange(recommendations, 'on', 'allow recommendations in replies again', 'parley recommendations on').action(
    withStore((session) => setSwitch(session, true)),
  )
  addChange(
    recommendations,
    'off',
    'stop all recommendations within seconds; projects keep their settings',
    'parley recommendations off',
  ).action(withStore((session) => setSwitch(session, false)))
  addCommand(
    recommendations,
    'status',
    'show the switch and the state of the matchers',
    'parley recommendations status',
  ).action(withStore(status))
  addCommand(
    recommendations,
    'rehearse <project>',
    'what a project’s stored replies of 30 days would have been recommended; stores nothing',
    `parley recommendations rehearse ${EXAMPLE_ID}`,
  ).action(withStore(rehearseProject))
}

async function setSwitch({ actor, change }: Session, isOn: boolean): Promise<Output> {
  await change((tx) => setRecommendationSwitch(tx, actor, { isOn }))
  return {
    document: { is_on: isOn },
    text: isOn
      ? 'Recommendations are on, for projects that want them.'
      : 'Recommendations are off everywhere within 5 seconds. Turn them on again with: parley recommendations on',
  }
}

async function status({ db }: Session): Promise<Output> {
  const [chosen, matchers, pending, stopped] = [
    await readRecommendationSwitch(db),
    await listMatchers(db),
    await countPendingOffers(db),
    await countStoppedOffers(db),
  ]
  const nowMs = Date.now()
  const isSilent = (beatAt: Date) => nowMs - beatAt.getTime() > SILENT_AFTER_MS
  const rows = matchers.map(({ host, state, problem, offers, beat_at: beatAt }) => ({
    host,
    state: isSilent(beatAt) ? 'silent' : state,
    offers,
    heard: ago(beatAt, nowMs),
    problem,
  }))
  const summary = facts({
    recommendations: chosen.is_on ? 'on' : 'off',
    since: chosen.changed_at,
    'offers to be reviewed': pending,
    'offers stopped by readers': stopped,
  })
  return {
    document: {
      is_on: chosen.is_on,
      changed_at: chosen.changed_at,
      offers_pending_review: pending,
      offers_stopped_by_readers: stopped,
      matchers: matchers.map((matcher) => Object.assign(matcher, { is_silent: isSilent(matcher.beat_at) })),
    },
    text: `${summary}\n\n${table(rows, 'No matcher runs, so nothing is recommended. Start one with: parley serve matcher')}`,
  }
}
