import type { Item } from '../../api.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import type { Column } from '../../components/data-table.tsx'
import { Time } from '../../components/figures.tsx'
import { formatCountExactly } from '../../formats.ts'

export type RefusedRequest = Item<'GET /api/projects/:project/refused-requests'>

export function refusedColumns(onShow: (refused: RefusedRequest) => void): Column<RefusedRequest>[] {
  return [
    { label: 'When', isTitle: true, width: 'w-44', cell: ({ lastAt }) => <Time iso={lastAt} /> },
    { label: 'Error', width: 'w-44', cell: (refused) => <Code refused={refused} onShow={onShow} /> },
    { label: 'Message', cell: (refused) => <Words refused={refused} /> },
    { label: 'Key', width: 'w-32', cell: (refused) => <Key refused={refused} /> },
    {
      label: 'Count',
      align: 'right',
      width: 'w-20',
      cell: ({ times }) => <span className="tabular">{formatCountExactly(times)}</span>,
    },
    { label: 'Request id', width: 'w-36', cell: ({ id }) => <RequestId id={id} /> },
  ]
}

function Code({ refused, onShow }: { refused: RefusedRequest; onShow(refused: RefusedRequest): void }) {
  const { status, code } = refused
  return (
    <span className="flex items-baseline gap-2 max-sm:justify-end">
      <span className="tabular text-sm text-muted">{status}</span>
      <button
        type="button"
        aria-label={`${code}: what it means and what to do`}
        className="rounded-sm text-left font-mono text-sm font-medium text-accent-text underline-offset-4 [overflow-wrap:anywhere] hover:underline"
        onClick={() => onShow(refused)}
      >
        {code}
      </button>
    </span>
  )
}

function Words({ refused: { message, param } }: { refused: RefusedRequest }) {
  return (
    <span className="block min-w-0 py-1 text-sm leading-snug">
      <bdi className="line-clamp-2 [overflow-wrap:anywhere]" title={message}>
        {message}
      </bdi>
      {param !== null && (
        <bdi className="block truncate font-mono text-xs text-muted" title={param}>
          {param}
        </bdi>
      )}
    </span>
  )
}

function Key({ refused: { keyName, viaSession } }: { refused: RefusedRequest }) {
  return (
    <span className="block max-w-32 min-w-0 leading-tight max-sm:max-w-56">
      <span className="block truncate">{keyName ?? 'Deleted'}</span>
      {viaSession && <span className="block text-xs text-muted">Browser session</span>}
    </span>
  )
}

export function RequestId({ id }: { id: string }) {
  return (
    <span className="flex min-w-0 items-center gap-1 max-sm:justify-end">
      <code className="w-20 truncate font-mono text-xs text-muted" title={id}>
        {id}
      </code>
      <CopyButton text={id} label={`Copy the request id ${id}`} />
    </span>
  )
}
