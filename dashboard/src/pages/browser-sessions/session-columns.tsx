import { classes } from '../../components/classes.ts'
import type { Column } from '../../components/data-table.tsx'
import { Money } from '../../components/figures.tsx'
import { formatCountExactly, formatCounted, formatMoney } from '../../formats.ts'
import { Countdown } from '../keys/countdown.tsx'
import { Meter } from '../limits/limit-bars.tsx'
import { firstOf, shareSpentOf, type BrowserSession } from './browser-session.ts'
import { EndButton } from './end-sessions.tsx'

export function sessionColumns(options: { mayChange: boolean; domain: string }): Column<BrowserSession>[] {
  return [
    { label: 'Session', isTitle: true, cell: (session) => <Name session={session} /> },
    { label: 'Key pair', width: 'w-32', cell: (session) => <Pair session={session} /> },
    { label: 'May use', width: 'w-52', cell: (session) => <Bounds session={session} domain={options.domain} /> },
    { label: 'Used', width: 'w-44', cell: (session) => <Used session={session} /> },
    { label: 'Ends in', width: 'w-24', cell: ({ expiresAt }) => <Countdown until={expiresAt} isBare /> },
    {
      label: 'Actions',
      isActions: true,
      width: 'w-20',
      cell: (session) => options.mayChange && <EndButton session={session} />,
    },
  ]
}

function Name({ session: { endUser, secretHint } }: { session: BrowserSession }) {
  const hasLabel = endUser !== null && endUser.label !== null
  return (
    <span className="block max-w-48 min-w-0 py-1 leading-tight max-sm:max-w-none">
      <bdi
        className={classes('block truncate font-medium', endUser !== null && !hasLabel && 'font-mono text-sm')}
        title={endUser?.label ?? endUser?.id}
      >
        {endUser === null ? 'No end user' : (endUser.label ?? endUser.id)}
      </bdi>
      <span className="block truncate font-mono text-xs font-normal text-muted">{secretHint}</span>
    </span>
  )
}

function Pair({ session: { key } }: { session: BrowserSession }) {
  return (
    <span className="block max-w-32 min-w-0 leading-tight max-sm:max-w-56">
      <span className="block truncate" title={key.publishableKey}>
        {key.name}
      </span>
      {key.obstacle !== null && <span className="block text-xs text-bad">{key.obstacle}</span>}
    </span>
  )
}

function Bounds({ session: { models, origins, maxTokens }, domain }: { session: BrowserSession; domain: string }) {
  const pages = origins === null ? domain : firstOf(origins.map((origin) => origin.replace('https://', '')))
  return (
    <span className="block max-w-52 min-w-0 text-sm leading-tight max-sm:max-w-56">
      <span className="block truncate" title={models?.join(', ')}>
        {models === null ? 'All models' : firstOf(models)}
      </span>
      <span className="block truncate text-xs text-muted" title={origins?.join(', ')}>
        on {pages}
      </span>
      {maxTokens !== null && (
        <span className="block text-xs text-muted">{formatCountExactly(maxTokens)} tokens per call at most</span>
      )}
    </span>
  )
}

function Used({ session }: { session: BrowserSession }) {
  const { callsMade, callsMax, spentNanos, moneyNanos, heldNanos } = session
  const text = `${formatMoney(spentNanos)} of ${formatMoney(moneyNanos)}`
  return (
    <span className="block py-1 text-sm leading-tight max-sm:w-44">
      <span className="tabular block whitespace-nowrap">
        {callsMade} of {formatCounted(callsMax, 'call')}
      </span>
      <Meter label="Money" share={shareSpentOf(session)} text={text} />
      <span className="block pt-1 text-xs whitespace-nowrap text-muted">
        <Money nanos={spentNanos} /> of <Money nanos={moneyNanos} />
        {heldNanos !== '0' && (
          <>
            , <Money nanos={heldNanos} /> held
          </>
        )}
      </span>
    </span>
  )
}
