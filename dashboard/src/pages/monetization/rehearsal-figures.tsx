import type { ReactNode } from 'react'
import { Money } from '../../components/figures.tsx'
import { Stat } from '../../components/stat.tsx'
import { formatCount, formatCounted, formatShare } from '../../formats.ts'
import type { RehearsalResult } from './use-rehearsal.ts'

export function RehearsalFigures({ result }: { result: RehearsalResult }) {
  const { replies, recommended, earnings } = result
  if (replies === 0) return <NothingKept unread={result.unread} />
  return (
    <>
      <div className="grid gap-3 sm:grid-cols-3">
        <Stat label="Replies that could be judged" value={formatCount(replies)} note={lookedOf(result)} />
        <Stat
          label="With a recommendation"
          value={formatCount(recommended)}
          note={`${formatShare(recommended / replies)} of them`}
          tone="earn"
        />
        <Stat
          label="Your share, if readers click"
          value={
            <>
              <Money nanos={earnings.fewNanos} isCoarse /> to <Money nanos={earnings.manyNanos} isCoarse />
            </>
          }
          note="a range, not a promise"
        />
      </div>
      <Assumptions result={result} />
      <div className="grid gap-6 lg:grid-cols-2">
        <Counts label="Why, and why not" of={replies} rows={result.outcomes.map(outcomeRowOf)} />
        {recommended > 0 && (
          <div className="flex flex-col gap-6">
            <Counts label="Advertisers" of={recommended} rows={result.advertisers.map(namedRowOf)} />
            <Counts label="Categories" of={recommended} rows={result.categories.map(namedRowOf)} />
          </div>
        )}
      </div>
    </>
  )
}

function NothingKept({ unread }: { unread: number }) {
  return (
    <p className="text-muted">
      {unread === 0
        ? 'No conversation of the last 30 days is stored. A conversation is stored if its calls name it and the project keeps its text.'
        : `The text of ${formatCounted(unread, 'reply', 'replies')} is not kept, or not everything said before it, so there is nothing to judge. Settings control how long text is kept.`}
    </p>
  )
}

function lookedOf({ looked }: RehearsalResult): string {
  const { conversations, of, isMore } = looked
  if (conversations >= of && !isMore) return `in ${formatCounted(conversations, 'conversation')}`
  return `in the newest ${formatCount(conversations)} of ${isMore ? 'more than ' : ''}${formatCounted(of, 'conversation')}`
}

/** The assumptions behind the range: people who doubt them can use their own. */
function Assumptions({ result }: { result: RehearsalResult }) {
  const { looked, clickPrice, clicksPerThousand, earnings, unread } = result
  const isSample = looked.isMore || looked.conversations < looked.of
  return (
    <ul className="flex max-w-3xl list-disc flex-col gap-1.5 pl-4 text-sm text-muted marker:text-faint">
      {clickPrice && (
        <li>
          The range takes {clicksPerThousand.few} to {clicksPerThousand.many} clicks per 1,000 recommendations, which no
          one knows before readers have clicked; {formatShare(earnings.shareBps / 10_000)} of each click as your share;
          and the prices that today’s bids make: <Money nanos={clickPrice.leastNanos} /> to{' '}
          <Money nanos={clickPrice.mostNanos} /> a click, <Money nanos={clickPrice.meanNanos} /> on average. It does not
          consider that advertisers may run out of budget or leave.
        </li>
      )}
      {isSample && <li>A sample: only the newest conversations were matched, and the range is for these.</li>}
      {unread > 0 && (
        <li>Left out: {formatCounted(unread, 'reply', 'replies')} whose conversation is not kept in full.</li>
      )}
      <li>
        Only a call’s messages are stored, so replies in JSON, with tools, or to a site that sent{' '}
        <code className="font-mono whitespace-nowrap">x-monetization: off</code> are counted as if they were plain.
      </li>
    </ul>
  )
}

interface Row {
  name: string
  replies: number
  note?: ReactNode
  isEarning?: boolean
}

function outcomeRowOf({ kind, title, explanation, advice, replies }: RehearsalResult['outcomes'][number]): Row {
  const note = advice === null ? explanation : `${explanation} ${advice}`
  return { name: title, replies, note, isEarning: kind === 'recommended' }
}

function namedRowOf({ name, replies }: RehearsalResult['advertisers'][number]): Row {
  return { name, replies }
}

function Counts({ label, of, rows }: { label: string; of: number; rows: Row[] }) {
  return (
    <table aria-label={label} className="w-full self-start border-collapse">
      <thead>
        <tr className="border-b border-line text-left text-xs text-muted [&>th]:h-9 [&>th]:font-medium">
          <th scope="col">{label}</th>
          <th scope="col" className="w-16 text-right sm:w-20">
            Replies
          </th>
          <th scope="col" className="w-16 text-right sm:w-20">
            Share
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, replies, note, isEarning = false }) => (
          <tr key={name} className="border-line align-top not-last:border-b">
            <td className="py-2 pr-3">
              <span className={isEarning ? 'font-medium text-earn' : 'font-medium'}>{name}</span>
              {note !== undefined && <p className="text-sm text-muted">{note}</p>}
            </td>
            <td className="tabular py-2 text-right">{formatCount(replies)}</td>
            <td className="tabular py-2 text-right text-muted">{formatShare(replies / of)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
