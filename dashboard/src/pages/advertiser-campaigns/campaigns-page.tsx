import { Megaphone, Plus } from 'lucide-react'
import { useState } from 'react'
import { Status } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Money } from '../../components/figures.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useDialogInAddress } from '../../filters.ts'
import { formatCounted } from '../../formats.ts'
import { useApi } from '../../queries.ts'
import { useAdvertiser } from '../../session.ts'
import { CampaignDialog } from './campaign-dialog.tsx'
import type { Campaign } from './campaign-fields.ts'
import { CampaignMenu } from './campaign-menu.tsx'

const EVERY_MS = 30_000

export function CampaignsPage() {
  const advertiser = useAdvertiser()
  const [isNew, setNew] = useDialogInAddress('new-campaign')
  const [edited, setEdited] = useState<Campaign>()
  const params = { advertiser: advertiser.id }
  const list = useApi('GET /api/advertisers/:advertiser/campaigns', { params }, { everyMs: EVERY_MS })
  const mayChange = advertiser.may('editor')
  const button = (
    <Button look="primary" icon={<Plus aria-hidden />} onClick={() => setNew(true)}>
      New campaign
    </Button>
  )
  function close(): void {
    setNew(false)
    setEdited(undefined)
  }
  return (
    <>
      <PageHeader
        title="Campaigns"
        context={advertiser.name}
        description="What you pay per click, how much in total, and who your products are for."
        docs="advertisers"
        action={mayChange && button}
      />
      <DataTable
        label="Campaigns"
        columns={columnsFor(mayChange, setEdited)}
        rows={list.data?.items}
        keyOf={({ id }) => id}
        error={list.error}
        onRetry={() => void list.refetch()}
        skeletonRows={3}
        empty={
          <EmptyState icon={Megaphone} title="No campaigns yet" action={mayChange && button}>
            A campaign sets what a click is worth to you and who its products are for. Feeds are added to it.
          </EmptyState>
        }
      />
      {mayChange && (isNew || edited) && <CampaignDialog key={edited?.id} campaign={edited} onClose={close} />}
    </>
  )
}

const STANDINGS: Record<Campaign['standing'], [tone: 'good' | 'warn' | 'neutral' | 'waiting', word: string]> = {
  running: ['good', 'Running'],
  limited: ['warn', 'Limited'],
  paused: ['neutral', 'Paused'],
  not_started: ['waiting', 'Not begun'],
  ended: ['neutral', 'Ended'],
}

const LIMITED_BY: Record<NonNullable<Campaign['limitedBy']>, string> = {
  credit: 'Limited by credit',
  total_budget: 'Limited by total budget',
  daily_budget: 'Limited by daily budget',
  pacing: 'Limited by pacing',
  fit: 'Limited by fit',
  bid: 'Limited by bid',
}

function Standing({ campaign }: { campaign: Campaign }) {
  const [tone, word] = STANDINGS[campaign.limitedBy === null ? campaign.standing : 'limited']
  return (
    <span className="block">
      <Status tone={tone}>{campaign.limitedBy === null ? word : LIMITED_BY[campaign.limitedBy]}</Status>
      <span className="mt-1 block text-sm text-muted">{campaign.explanation}</span>
    </span>
  )
}

function columnsFor(mayChange: boolean, onEdit: (campaign: Campaign) => void): Column<Campaign>[] {
  const columns: Column<Campaign>[] = [
    {
      label: 'Campaign',
      isTitle: true,
      cell: ({ name, offers, hints }) => (
        <span className="block min-w-0">
          <span className="block truncate font-medium">{name}</span>
          <span className="block truncate text-sm font-normal text-muted">
            {formatCounted(offers, 'offer')}, {formatCounted(hints.length, 'hint')}
          </span>
        </span>
      ),
    },
    { label: 'State', width: 'sm:w-72', cell: (campaign) => <Standing campaign={campaign} /> },
    { label: 'Bid', align: 'right', width: 'w-24', cell: ({ bidNanos }) => <Money nanos={bidNanos} /> },
    {
      label: 'Spent today',
      align: 'right',
      width: 'w-36',
      cell: (campaign) => <Spent nanos={campaign.spentTodayNanos} budget={campaign.dailyBudgetNanos} />,
    },
    {
      label: 'Spent in total',
      align: 'right',
      width: 'w-36',
      cell: (campaign) => <Spent nanos={campaign.spentNanos} budget={campaign.totalBudgetNanos} />,
    },
  ]
  if (!mayChange) return columns
  const menu = (campaign: Campaign) => <CampaignMenu campaign={campaign} onEdit={() => onEdit(campaign)} />
  return [...columns, { label: 'Actions', isActions: 'menu', width: 'w-14', cell: menu }]
}

function Spent({ nanos, budget }: { nanos: string; budget: string | null }) {
  return (
    <span className="block">
      <Money nanos={nanos} />
      <span className="block text-sm text-muted">
        {budget === null ? (
          'no budget'
        ) : (
          <>
            of <Money nanos={budget} />
          </>
        )}
      </span>
    </span>
  )
}
