import { useNavigate } from '@tanstack/react-router'
import { Link2, Rss, Upload } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Time } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useDialogInAddress } from '../../filters.ts'
import { formatCount } from '../../formats.ts'
import { useApi } from '../../queries.ts'
import { useAdvertiser } from '../../session.ts'
import { AddressDialog } from './address-dialog.tsx'
import { useCampaigns } from './feed-fields.tsx'
import { FeedMenu } from './feed-menu.tsx'
import { FeedStanding } from './feed-standing.tsx'
import { intervalInWords, type Feed } from './feed.ts'
import { UploadDialog } from './upload-dialog.tsx'

/** A feed that was just added is fetched within seconds. */
const EVERY_MS = 10_000

export function FeedsPage() {
  const advertiser = useAdvertiser()
  const navigate = useNavigate()
  const [isUploading, setUploading] = useDialogInAddress('upload')
  const [isAdding, setAdding] = useDialogInAddress('new-feed')
  const [edited, setEdited] = useState<Feed>()
  const params = { advertiser: advertiser.id }
  const list = useApi('GET /api/advertisers/:advertiser/feeds', { params }, { everyMs: EVERY_MS })
  const campaigns = useCampaigns()
  const mayChange = advertiser.may('editor')
  const base = `/advertisers/${advertiser.id}/feeds`
  const buttons = mayChange && (
    <>
      <Button icon={<Upload aria-hidden />} onClick={() => setUploading(true)}>
        Upload file
      </Button>
      <Button look="primary" icon={<Link2 aria-hidden />} onClick={() => setAdding(true)}>
        Add by address
      </Button>
    </>
  )
  function close(): void {
    setAdding(false)
    setEdited(undefined)
  }
  return (
    <>
      <PageHeader
        title="Feeds"
        context={advertiser.name}
        description="Files of your products. Each belongs to a campaign, and is published as a whole or not at all."
        docs="advertisers"
        action={buttons}
      />
      <DataTable
        label="Feeds"
        columns={columnsFor({ base, mayChange, onEdit: setEdited })}
        rows={list.data?.items}
        keyOf={({ id }) => id}
        error={list.error}
        onRetry={() => void list.refetch()}
        onRowClick={({ id }) => void navigate({ to: `${base}/${id}` })}
        skeletonRows={3}
        empty={
          <EmptyState
            icon={Rss}
            title="No feeds yet"
            action={buttons && <div className="flex flex-wrap justify-center gap-2">{buttons}</div>}
          >
            A feed is a file of your products as shops export it: CSV, TSV, XML, JSON or Shopify’s own. Give its address
            and it is fetched regularly, or upload a file.
          </EmptyState>
        }
      />
      {mayChange && campaigns && (isAdding || edited) && (
        <AddressDialog key={edited?.id} feed={edited} campaigns={campaigns} onClose={close} />
      )}
      {mayChange && campaigns && list.data && isUploading && (
        <UploadDialog feeds={list.data.items} campaigns={campaigns} onClose={() => setUploading(false)} />
      )}
    </>
  )
}

interface ColumnsOptions {
  base: string
  mayChange: boolean
  onEdit(feed: Feed): void
}

function columnsFor({ base, mayChange, onEdit }: ColumnsOptions): Column<Feed>[] {
  const columns: Column<Feed>[] = [
    {
      label: 'Feed',
      isTitle: true,
      cell: ({ id, name, campaign }) => (
        <span className="block min-w-0">
          <Link to={`${base}/${id}`} className="block truncate text-ink">
            {name}
          </Link>
          <span className="block truncate text-sm font-normal text-muted">{campaign}</span>
        </span>
      ),
    },
    { label: 'State', width: 'sm:w-80', cell: (feed) => <FeedStanding feed={feed} /> },
    { label: 'Source', width: 'sm:w-48', cell: (feed) => <Source feed={feed} /> },
    { label: 'Offers', align: 'right', width: 'w-24', cell: ({ offers }) => formatCount(offers) },
    { label: 'Last published', width: 'w-36', cell: ({ publishedAt }) => <Time iso={publishedAt} as="age" /> },
  ]
  if (!mayChange) return columns
  const menu = (feed: Feed) => <FeedMenu feed={feed} onEdit={() => onEdit(feed)} />
  return [...columns, { label: 'Actions', isActions: 'menu', width: 'w-14', cell: menu }]
}

function Source({ feed: { source } }: { feed: Feed }) {
  if (!source) return 'Uploaded files'
  return (
    <span className="block min-w-0">
      <span className="block truncate" title={source.url}>
        {new URL(source.url).host}
      </span>
      <span className="block text-sm text-muted">{intervalInWords(source.every)}</span>
    </span>
  )
}
