import { CornerDownRight } from 'lucide-react'
import { Status } from '../../components/badge.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import type { Column } from '../../components/data-table.tsx'
import { Money, Time } from '../../components/figures.tsx'
import { Countdown } from './countdown.tsx'
import { EndNowButton, KeyActions } from './key-actions.tsx'
import type { KeyPair, NewKeyPair } from './key-pair.ts'

export function keyColumns(options: { mayChange: boolean; onRolled(pair: NewKeyPair): void }): Column<KeyPair>[] {
  return [
    { label: 'Name', isTitle: true, cell: (pair) => <Name pair={pair} /> },
    { label: 'Keys', width: 'w-84', cell: (pair) => <Keys pair={pair} /> },
    {
      label: 'Last used',
      width: 'w-28',
      cell: ({ lastUsedAt }) =>
        lastUsedAt === null ? <span className="text-muted">never</span> : <Time iso={lastUsedAt} as="age" />,
    },
    {
      label: '30 days',
      align: 'right',
      width: 'w-24',
      amountOf: ({ spent30dNanos }) => spent30dNanos,
      cell: ({ spent30dNanos }, decimals) => <Money nanos={spent30dNanos} decimals={decimals} />,
    },
    { label: 'Status', width: 'w-40', cell: (pair) => <KeyState pair={pair} mayChange={options.mayChange} /> },
    {
      label: 'Actions',
      isActions: 'menu',
      width: 'w-14',
      cell: (pair) => options.mayChange && <KeyActions pair={pair} onRolled={options.onRolled} />,
    },
  ]
}

function Name({ pair: { name, createdBy, createdAt, replacedBy } }: { pair: KeyPair }) {
  return (
    <span className="flex max-w-64 min-w-0 items-start gap-2 max-sm:max-w-none max-sm:pr-10">
      {replacedBy !== null && <CornerDownRight className="mt-0.5 size-4 shrink-0 text-faint" aria-hidden />}
      <span className="min-w-0 leading-tight">
        <span className="block truncate font-medium" title={name}>
          {name}
          {replacedBy !== null && <span className="font-normal text-muted"> (old pair)</span>}
        </span>
        <span className="block truncate text-sm font-normal text-muted">
          Created <Time iso={createdAt} as="age" />
          {createdBy !== null && ` by ${createdBy}`}
        </span>
      </span>
    </span>
  )
}

function Keys({ pair: { publishableKey, secretHint, name } }: { pair: KeyPair }) {
  return (
    <span className="block font-mono text-xs leading-tight">
      <span className="flex items-center gap-1 sm:h-5 max-sm:justify-end">
        <span className="min-w-0 max-sm:break-all">{publishableKey}</span>
        <CopyButton text={publishableKey} label={`Copy the publishable key of ${name}`} />
      </span>
      <span className="block text-muted">{secretHint}</span>
    </span>
  )
}

const STATES = {
  active: { tone: 'good', word: 'Active' },
  ending: { tone: 'waiting', word: 'Ending' },
  inactive: { tone: 'neutral', word: 'Inactive' },
  expired: { tone: 'bad', word: 'Expired' },
} as const

const ENDED = { tone: 'neutral', word: 'Ended' } as const

function KeyState({ pair, mayChange }: { pair: KeyPair; mayChange: boolean }) {
  const { status, explanation, expiresAt, replacedBy } = pair
  // A pair that was replaced has ended as planned.
  const { tone, word } = status === 'expired' && replacedBy !== null ? ENDED : STATES[status]
  return (
    <span className="block leading-tight" title={explanation}>
      <Status tone={tone}>{word}</Status>
      <span className="sr-only">{explanation}</span>
      {expiresAt !== null && (
        <span className="flex flex-wrap gap-x-2 pt-0.5 text-xs text-muted max-sm:justify-end">
          {status === 'expired' ? <Time iso={expiresAt} as="age" /> : <Countdown until={expiresAt} />}
          {status === 'ending' && mayChange && <EndNowButton pair={pair} />}
        </span>
      )}
    </span>
  )
}
