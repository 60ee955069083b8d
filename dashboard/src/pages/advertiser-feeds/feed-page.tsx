import { useParams } from '@tanstack/react-router'
import { ArrowLeft, FileClock, RefreshCw } from 'lucide-react'
import { useState } from 'react'
import { Status } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { Nothing, Time } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { EmptyState, ErrorState } from '../../components/states.tsx'
import { formatCount, formatCounted } from '../../formats.ts'
import { pagingOf, useApi, useApiList } from '../../queries.ts'
import { useAdvertiser } from '../../session.ts'
import { AddressDialog } from './address-dialog.tsx'
import { useCampaigns } from './feed-fields.tsx'
import { FeedMenu, useFetchNow } from './feed-menu.tsx'
import { FeedStanding } from './feed-standing.tsx'
import { intervalInWords, RUN_STATES, type Feed, type Run } from './feed.ts'
import { RejectionTable } from './rejection-table.tsx'

const EVERY_MS = 10_000

export function FeedPage() {
  const advertiser = useAdvertiser()
  const { feed: id } = useParams({ strict: false }) as { feed: string }
  const [isEdited, setEdited] = useState(false)
  const params = { advertiser: advertiser.id, feed: id }
  const read = useApi('GET /api/advertisers/:advertiser/feeds/:feed', { params }, { everyMs: EVERY_MS })
  const { data: feed, error } = read
  const base = `/advertisers/${advertiser.id}`
  const campaigns = useCampaigns()
  const mayChange = advertiser.may('editor')
  return (
    <>
      <p className="mb-3">
        <Link to={`${base}/feeds`} className="inline-flex items-center gap-1.5 text-sm">
          <ArrowLeft aria-hidden className="size-4" /> Feeds
        </Link>
      </p>
      <PageHeader
        title={feed?.name ?? 'Feed'}
        context={advertiser.name}
        description="What became of its files, and which rows were refused."
        action={
          // Its room is there before it is: on a phone it stands below the title.
          mayChange && (
            <span className="flex h-9 min-w-40 items-center gap-2 sm:h-8 sm:justify-end">
              {feed && <Actions feed={feed} onEdit={() => setEdited(true)} />}
            </span>
          )
        }
      />
      {error && !feed ? (
        <Card>
          <ErrorState error={error} onRetry={() => void read.refetch()} />
        </Card>
      ) : (
        <div className="flex flex-col gap-6">
          <Card title="How it stands">
            {feed ? <FeedFacts feed={feed} base={base} mayChange={mayChange} /> : <SkeletonLines count={6} />}
          </Card>
          {feed && <Runs feed={feed} />}
        </div>
      )}
      {feed && campaigns && isEdited && (
        <AddressDialog feed={feed} campaigns={campaigns} onClose={() => setEdited(false)} />
      )}
    </>
  )
}

function Actions({ feed, onEdit }: { feed: Feed; onEdit(): void }) {
  const fetchNow = useFetchNow(feed)
  return (
    <>
      {feed.source && !feed.source.isPaused && (
        <Button icon={<RefreshCw aria-hidden />} isBusy={fetchNow.isBusy} onClick={() => fetchNow.ask(false)}>
          Fetch now
        </Button>
      )}
      <FeedMenu feed={feed} onEdit={onEdit} />
    </>
  )
}

function FeedFacts({ feed, base, mayChange }: { feed: Feed; base: string; mayChange: boolean }) {
  const { source } = feed
  return (
    <div className="flex flex-col gap-4">
      <Facts>
        <Fact label="State">
          <FeedStanding feed={feed} />
        </Fact>
        <Fact label="Source">
          {source ? <code className="font-mono [overflow-wrap:anywhere]">{source.url}</code> : 'Files that you upload'}
        </Fact>
        {source && <Fact label="Fetched">{intervalInWords(source.every)}</Fact>}
        {source && (
          <Fact label="Last fetched">
            <Time iso={source.lastFetchAt} />
          </Fact>
        )}
        {source && (
          <Fact label="Next">
            <Time iso={source.nextFetchAt} />
          </Fact>
        )}
        <Fact label="Last published">
          <Time iso={feed.publishedAt} />
        </Fact>
        <Fact label="Campaign">
          <Link to={`${base}/campaigns`}>{feed.campaign}</Link>
        </Fact>
        <Fact label="Offers">
          {feed.offers === 0 ? (
            'None yet'
          ) : (
            <Link to={`${base}/offers`} search={{ feed: feed.id }}>
              {formatCounted(feed.offers, 'offer')}
            </Link>
          )}
        </Fact>
        <Fact label="Currency">{feed.currency ?? 'As the file says'}</Fact>
      </Facts>
      {mayChange && source?.lastFetch === 'refused' && !source.isPaused && <RemovalNotice feed={feed} />}
    </div>
  )
}

/** So much at once is mostly a broken export, so nobody is taken at their word before they gave it. */
function RemovalNotice({ feed }: { feed: Feed }) {
  const fetchNow = useFetchNow(feed)
  const button = (
    <Button isBusy={fetchNow.isBusy} onClick={() => fetchNow.ask(true)}>
      Fetch and publish
    </Button>
  )
  return (
    <Notice tone="warn" action={button}>
      If you have really taken so many products away, have the file fetched and published once more.
    </Notice>
  )
}

function Runs({ feed }: { feed: Feed }) {
  const { id: advertiser } = useAdvertiser()
  const [shown, setShown] = useState<Run>()
  const list = useApiList(
    'GET /api/advertisers/:advertiser/feeds/:feed/runs',
    { params: { advertiser, feed: feed.id } },
    { everyMs: EVERY_MS },
  )
  return (
    <section>
      <h2 className="mb-3 text-base font-semibold">Runs</h2>
      <DataTable
        label="Runs"
        columns={columnsFor(setShown)}
        rows={list.items}
        keyOf={({ id }) => id}
        {...pagingOf(list)}
        skeletonRows={4}
        empty={
          <EmptyState icon={FileClock} title="No file was read yet">
            Each file that is read appears here, with what it has changed. A file that is the same as before is not read
            again.
          </EmptyState>
        }
      />
      {shown && (
        <Dialog
          isOpen
          onClose={() => setShown(undefined)}
          title="Refused rows"
          description="The rest of the file was taken. Correct these rows in your export."
          size="lg"
        >
          <RejectionTable rejections={shown.rejections} total={shown.rejected} />
        </Dialog>
      )}
    </section>
  )
}

function columnsFor(onShow: (run: Run) => void): Column<Run>[] {
  const number = (label: string, of: (run: Run) => number, width: string): Column<Run> => ({
    label,
    align: 'right',
    width,
    cell: (run) => <span className="tabular">{formatCount(of(run))}</span>,
  })
  return [
    { label: 'When', isTitle: true, width: 'sm:w-44', cell: ({ startedAt }) => <Time iso={startedAt} /> },
    { label: 'Outcome', cell: (run) => <Outcome run={run} /> },
    number('Rows', ({ rows }) => rows, 'w-20'),
    number('Added', ({ added }) => added, 'w-20'),
    number('Changed', ({ changed }) => changed, 'w-24'),
    number('Withdrawn', ({ removed }) => removed, 'w-28'),
    {
      label: 'Refused',
      align: 'right',
      width: 'w-24',
      cell: (run) =>
        run.rejected === 0 ? (
          <Nothing />
        ) : (
          <button
            type="button"
            className="tabular rounded-sm font-medium text-accent-text underline-offset-4 hover:underline"
            aria-label={`Show the ${formatCounted(run.rejected, 'refused row')}`}
            onClick={() => onShow(run)}
          >
            {formatCount(run.rejected)}
          </button>
        ),
    },
  ]
}

function Outcome({ run }: { run: Run }) {
  const { tone, word } = RUN_STATES[run.state]
  return (
    <span className="block">
      <Status tone={tone}>{word}</Status>
      {run.reason !== null && (
        <span className="mt-1 block text-sm text-muted [overflow-wrap:anywhere]">{run.reason}</span>
      )}
    </span>
  )
}
