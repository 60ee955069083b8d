import type { Column } from '../../components/data-table.tsx'
import { Money, Nothing, Time } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { StateOfClick, VerdictOfClick } from './click-state.tsx'
import type { Click } from './verdicts.ts'

export function clickColumns(projectId: string, onShow: (id: string) => void): Column<Click>[] {
  return [
    { label: 'When', isTitle: true, width: 'w-36', cell: (click) => <When click={click} onShow={onShow} /> },
    { label: 'Offer', cell: ({ headline, advertiser }) => <Offer headline={headline} advertiser={advertiser.name} /> },
    { label: 'Verdict', cell: (click) => <Verdict click={click} /> },
    {
      label: 'Price',
      align: 'right',
      width: 'w-24',
      amountOf: ({ priceNanos }) => priceNanos,
      cell: ({ priceNanos }, decimals) => <Paid nanos={priceNanos} decimals={decimals} />,
    },
    {
      label: 'Your share',
      align: 'right',
      width: 'w-24',
      amountOf: ({ shareNanos }) => shareNanos,
      cell: ({ shareNanos }, decimals) => <Paid nanos={shareNanos} decimals={decimals} isShare />,
    },
    { label: 'State', width: 'w-40', cell: (click) => <Release click={click} /> },
    {
      label: 'Call',
      width: 'w-24',
      cell: ({ call }) =>
        call === null ? (
          <Nothing label="kept no longer" />
        ) : (
          <Link to={`/projects/${projectId}/calls/${call}`} className="text-sm whitespace-nowrap">
            See the call
          </Link>
        ),
    },
  ]
}

function When({ click, onShow }: { click: Click; onShow(id: string): void }) {
  return (
    <button
      type="button"
      className="rounded-sm text-left font-medium text-accent-text underline-offset-4 hover:underline"
      onClick={() => onShow(click.id)}
    >
      <span className="sr-only">Receipt of the click of </span>
      <Time iso={click.at} as="moment" />
    </button>
  )
}

function Offer({ headline, advertiser }: { headline: string; advertiser: string }) {
  return (
    <span className="block min-w-0 leading-tight">
      <span className="block">{headline}</span>
      <span className="block text-sm text-muted">{advertiser}</span>
    </span>
  )
}

/** The meaning of a verdict is shown right away, so that nobody has to look it up. */
function Verdict({ click }: { click: Click }) {
  return (
    <span className="block min-w-0 py-1">
      <VerdictOfClick click={click} />
      {click.verdict !== 'valid' && (
        <span className="mt-0.5 block max-w-80 text-xs leading-snug text-muted">{click.explanation}</span>
      )}
    </span>
  )
}

function Paid({ nanos, decimals, isShare = false }: { nanos: string; decimals: number; isShare?: boolean }) {
  if (nanos === '0') return <Nothing label="nothing" />
  return <Money nanos={nanos} decimals={decimals} {...(isShare && { className: 'text-earn' })} />
}

function Release({ click: { state, releasesAt } }: { click: Click }) {
  return (
    <span className="block leading-tight">
      <StateOfClick state={state} />
      {state === 'pending' && releasesAt !== null && (
        <span className="mt-0.5 block text-xs text-muted">
          until <Time iso={releasesAt} as="moment" />
        </span>
      )}
    </span>
  )
}
