import { useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { ArrowLeft, CircleDashed, Loader2 } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Nothing } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { Stat } from '../../components/stat.tsx'
import { EmptyState, ErrorState } from '../../components/states.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { Checkbox } from '../../components/toggles.tsx'
import { formatCount, formatCounted } from '../../formats.ts'
import { useApi, useChange } from '../../queries.ts'
import { useAdvertiser } from '../../session.ts'
import { FEED_READS } from './feed-menu.tsx'
import type { Upload } from './feed.ts'
import { RejectionTable } from './rejection-table.tsx'

const EVERY_MS = 1_000
const UPLOAD = 'GET /api/advertisers/:advertiser/feed-uploads/:upload'

type Report = NonNullable<Upload['report']>
type Change = Report['changes'][number]

/** Shows what an uploaded file would change, before anything of it is published. */
export function UploadPage() {
  const advertiser = useAdvertiser()
  const { upload: id } = useParams({ strict: false }) as { upload: string }
  const [isOver, setOver] = useState(false)
  const params = { advertiser: advertiser.id, upload: id }
  const { data, error, refetch } = useApi(UPLOAD, { params }, isOver ? {} : { everyMs: EVERY_MS })
  const isWorking = data?.state === 'to_check' || data?.state === 'to_publish'
  if (data && isOver === isWorking) setOver(!isWorking)
  return (
    <>
      <p className="mb-3">
        <Link to={`/advertisers/${advertiser.id}/feeds`} className="inline-flex items-center gap-1.5 text-sm">
          <ArrowLeft aria-hidden className="size-4" /> Feeds
        </Link>
      </p>
      <PageHeader
        title="Uploaded feed"
        context={advertiser.name}
        description={data ? <About upload={data} /> : <Skeleton className="h-5 w-72 max-w-full" />}
      />
      {error && !data ? (
        <Card>
          <ErrorState error={error} onRetry={() => void refetch()} />
        </Card>
      ) : (
        <Result key={data?.state} upload={data} mayChange={advertiser.may('editor')} />
      )}
    </>
  )
}

function About({ upload: { fileName, feed, campaign } }: { upload: Upload }) {
  return (
    <>
      <code className="font-mono text-sm break-all">{fileName}</code> for the feed {feed} of the campaign {campaign}.
    </>
  )
}

function Result({ upload, mayChange }: { upload: Upload | undefined; mayChange: boolean }) {
  const { report, state, problem } = upload ?? {}
  if (state === 'failed') {
    return <Notice tone="bad">{problem ?? 'The file could not be read.'} Nothing was changed.</Notice>
  }
  return (
    <div className="flex flex-col gap-4">
      {upload && report && state === 'checked' && mayChange && <Decision upload={upload} report={report} />}
      {(state === 'to_check' || state === 'to_publish') && <Working state={state} />}
      {state === 'published' && <Published />}
      <Figures report={report ?? undefined} isDone={state === 'published'} />
      {report && <Lists report={report} isDone={state === 'published'} />}
    </div>
  )
}

function Working({ state }: { state: 'to_check' | 'to_publish' }) {
  return (
    <div role="status" className="flex items-center gap-2.5 rounded-md bg-sunken px-3 py-2.5">
      <Loader2 className="size-4 animate-spin text-muted" aria-hidden />
      {state === 'to_check' ? 'The file is being checked. Nothing is changed by that.' : 'The file is being published.'}
    </div>
  )
}

function Published() {
  const { id } = useAdvertiser()
  const client = useQueryClient()
  // Feeds and offers that were read before are out of date.
  useEffect(() => {
    for (const key of FEED_READS) void client.invalidateQueries({ queryKey: [key] })
  }, [client])
  return (
    <Notice tone="good" action={<Link to={`/advertisers/${id}/offers`}>See the offers</Link>}>
      The file is published. What the operator has to look at first is awaiting review.
    </Notice>
  )
}

/** Publish it, or forget it. So much that is withdrawn at once is mostly a broken export, so that is asked for separately. */
function Decision({ upload, report }: { upload: Upload; report: Report }) {
  const { id: advertiser } = useAdvertiser()
  const navigate = useNavigate()
  const [isConfirmed, setConfirmed] = useState(false)
  const publish = useChange('POST /api/advertisers/:advertiser/feed-uploads/:upload/publish', [UPLOAD])
  const discard = useChange('DELETE /api/advertisers/:advertiser/feed-uploads/:upload')
  const params = { advertiser, upload: upload.id }
  const isTooMuch = report.refusal !== null
  function leave(): void {
    toast('The file is discarded.')
    void navigate({ to: `/advertisers/${advertiser}/feeds` })
  }
  const buttons = (
    <>
      <Button onClick={() => discard.mutate({ params }, { onSuccess: leave, onError: toastError })}>Discard</Button>
      <Button
        look="primary"
        isBusy={publish.isPending}
        disabled={isTooMuch && !isConfirmed}
        onClick={() => publish.mutate({ params, body: { confirmRemoval: isConfirmed } }, { onError: toastError })}
      >
        Publish
      </Button>
    </>
  )
  return (
    <Card footer={<div className="ml-auto flex gap-2">{buttons}</div>}>
      <div className="flex flex-col gap-3">
        <p>{summaryOf(report)}</p>
        {isTooMuch && (
          <Checkbox
            checked={isConfirmed}
            onChange={setConfirmed}
            label={`Withdraw ${formatCount(report.removed)} of ${formatCounted(report.live, 'offer')}`}
            hint="So many at once are mostly a broken export. Confirm that it is meant."
          />
        )}
      </div>
    </Card>
  )
}

function summaryOf({ rows, rejected, missing, pending }: Report): string {
  const parts = [
    `The file has ${formatCounted(rows, 'row')}.`,
    rejected === 0 ? '' : `${formatCount(rejected)} of them cannot be used and are left out.`,
    pending === 0 ? '' : `The operator has to look at ${formatCounted(pending, 'offer')} before they are recommended.`,
    missing === 0
      ? ''
      : `${formatCounted(missing, 'offer')} not in this file stay until the next file lacks them, too.`,
    'Nothing is changed until you publish it.',
  ]
  return parts.filter((part) => part !== '').join(' ')
}

function Figures({ report, isDone }: { report: Report | undefined; isDone: boolean }) {
  const note = isDone ? 'in this file' : 'when you publish it'
  const value = (count: number | undefined) => (count === undefined ? undefined : formatCount(count))
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <Stat label="Added" value={value(report?.added)} note={note} />
      <Stat
        label="Changed"
        value={value(report?.changed)}
        note={report && `${formatCount(report.unchanged)} stay as they are`}
      />
      <Stat label="Withdrawn" value={value(report?.removed)} note={note} />
      <Stat
        label="Refused"
        value={value(report?.rejected)}
        note={report && `of ${formatCounted(report.rows, 'row')}`}
      />
    </div>
  )
}

function Lists({ report, isDone }: { report: Report; isDone: boolean }) {
  const refused = {
    value: 'refused',
    label: `Refused (${formatCount(report.rejected)})`,
    content: <RejectionTable rejections={report.rejections} total={report.rejected} />,
  }
  // Once the file is published, there are no examples of each kind of change: only the check before lists them.
  if (isDone) return <Tabs label="What has changed" tabs={[refused]} />
  const kinds: [Change['kind'], string, number][] = [
    ['added', 'Added', report.added],
    ['changed', 'Changed', report.changed],
    ['removed', 'Withdrawn', report.removed],
  ]
  const lists = kinds.map(([kind, label, total]) => ({
    value: kind,
    label: `${label} (${formatCount(total)})`,
    content: (
      <ChangeTable changes={report.changes.filter((change) => change.kind === kind)} label={label} total={total} />
    ),
  }))
  return <Tabs label="What would change" tabs={report.rejected > 0 ? [refused, ...lists] : [...lists, refused]} />
}

function ChangeTable({ changes, label, total }: { changes: Change[]; label: string; total: number }) {
  const isCut = total > changes.length
  return (
    <DataTable
      label={label}
      columns={CHANGE_COLUMNS}
      rows={changes}
      keyOf={({ item }) => item}
      {...(isCut && { note: `The first ${changes.length} of ${formatCount(total)}.` })}
      empty={
        <EmptyState icon={CircleDashed} title="None">
          No offer would be {label.toLowerCase()}.
        </EmptyState>
      }
    />
  )
}

const CHANGE_COLUMNS: Column<Change>[] = [
  {
    label: 'Row',
    width: 'w-20',
    cell: ({ row }) => (row === null ? <Nothing /> : <span className="tabular">{row}</span>),
  },
  {
    label: 'Item',
    width: 'w-48',
    cell: ({ item }) => <code className="block truncate font-mono text-sm">{item}</code>,
  },
  { label: 'Title', isTitle: true, cell: ({ title }) => <span className="block truncate">{title}</span> },
  {
    label: 'What differs',
    width: 'sm:w-72',
    cell: ({ fields }) =>
      fields.length === 0 ? (
        <Nothing />
      ) : (
        <span className="flex flex-wrap gap-1 max-sm:justify-end">
          {fields.map((field) => (
            <Badge key={field}>{field.replaceAll('_', ' ')}</Badge>
          ))}
        </span>
      ),
  },
]
