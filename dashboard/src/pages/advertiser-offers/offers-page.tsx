import { Package, SearchX } from 'lucide-react'
import type { Item } from '../../api.ts'
import { Status } from '../../components/badge.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Nothing } from '../../components/figures.tsx'
import { FilterBar, FilterInput, FilterSelect } from '../../components/filter-bar.tsx'
import { ExternalLink, Link } from '../../components/link.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useFilters } from '../../filters.ts'
import { pagingOf, useApi, useApiList } from '../../queries.ts'
import { useAdvertiser } from '../../session.ts'

type Offer = Item<'GET /api/advertisers/:advertiser/offers'>
type Standing = Offer['standing']

const FILTERS = ['q', 'standing', 'feed'] as const
const EVERY_MS = 30_000

const STANDINGS: Record<Standing, [tone: 'good' | 'warn' | 'bad' | 'neutral' | 'waiting', word: string]> = {
  approved: ['good', 'Approved'],
  waiting: ['waiting', 'Awaiting review'],
  rejected: ['bad', 'Rejected'],
  stopped: ['warn', 'Stopped by reports'],
  out_of_stock: ['neutral', 'Not in stock'],
  outdated: ['warn', 'Too old'],
  withdrawn: ['neutral', 'Withdrawn'],
}
const STANDING_OPTIONS = Object.entries(STANDINGS).map(([value, [, label]]) => ({ value, label }))

export function OffersPage() {
  const advertiser = useAdvertiser()
  const [filters, setFilters] = useFilters(FILTERS)
  const params = { advertiser: advertiser.id }
  const query = { ...filters, standing: standingIn(filters.standing) }
  const list = useApiList('GET /api/advertisers/:advertiser/offers', { params, query }, { everyMs: EVERY_MS })
  const feeds = useApi('GET /api/advertisers/:advertiser/feeds', { params }).data?.items ?? []
  const isFiltered = Object.keys(filters).length > 0
  return (
    <>
      <PageHeader
        title="Offers"
        context={advertiser.name}
        description="The products in your feeds, as readers see them, and whether each can be recommended."
        docs="advertisers"
      />
      <FilterBar onClear={isFiltered && (() => setFilters({ q: '', standing: '', feed: '' }))}>
        <FilterInput label="Search title or item id" value={filters.q} onChange={(q = '') => setFilters({ q })} />
        <FilterSelect
          label="State"
          all="All states"
          value={filters.standing}
          onChange={(standing = '') => setFilters({ standing })}
          options={STANDING_OPTIONS}
        />
        {/* As wide as what is chosen: the feeds come later. */}
        <span className="contents [&_select]:field-sizing-content">
          <FilterSelect
            label="Feed"
            all="All feeds"
            value={filters.feed}
            onChange={(feed = '') => setFilters({ feed })}
            options={feeds.map(({ id, name }) => ({ value: id, label: name }))}
          />
        </span>
      </FilterBar>
      <DataTable
        label="Offers"
        columns={COLUMNS}
        rows={list.items}
        keyOf={({ id }) => id}
        {...pagingOf(list)}
        empty={isFiltered ? <NoneMatches /> : <NoneYet feeds={`/advertisers/${advertiser.id}/feeds`} />}
      />
    </>
  )
}

/** The address may have been written by hand: only a known word counts. */
function standingIn(text: string | undefined): Standing | undefined {
  return text !== undefined && text in STANDINGS ? (text as Standing) : undefined
}

function NoneYet({ feeds }: { feeds: string }) {
  return (
    <EmptyState icon={Package} title="No offers yet" action={<Link to={feeds}>Feeds</Link>}>
      Each product of a feed that was published is an offer.
    </EmptyState>
  )
}

function NoneMatches() {
  return (
    <EmptyState icon={SearchX} title="No offer matches these filters">
      Offers that were withdrawn appear only when you ask for them by their state.
    </EmptyState>
  )
}

const COLUMNS: Column<Offer>[] = [
  {
    label: 'Offer',
    isTitle: true,
    cell: ({ headline, benefit, title }) => (
      <span className="block min-w-0 py-1">
        <bdi className="block truncate font-medium" title={title}>
          {headline}
        </bdi>
        <bdi className="line-clamp-2 text-sm font-normal text-muted">{benefit}</bdi>
      </span>
    ),
  },
  { label: 'State', width: 'sm:w-72', cell: (offer) => <State offer={offer} /> },
  {
    label: 'Price',
    align: 'right',
    width: 'w-28',
    cell: ({ price, currency }) =>
      price === null ? (
        <Nothing />
      ) : (
        <span className="tabular whitespace-nowrap">
          {price} {currency}
        </span>
      ),
  },
  { label: 'Leads to', width: 'sm:w-52', cell: (offer) => <Addresses offer={offer} /> },
  {
    label: 'Item',
    width: 'sm:w-44',
    cell: ({ itemId, feed }) => (
      <span className="block min-w-0">
        <code className="block truncate font-mono text-sm" title={itemId}>
          {itemId}
        </code>
        <span className="block truncate text-sm text-muted">{feed}</span>
      </span>
    ),
  },
]

function State({ offer: { standing, explanation } }: { offer: Offer }) {
  const [tone, word] = STANDINGS[standing]
  return (
    <span className="block py-1">
      <Status tone={tone}>{word}</Status>
      {standing !== 'approved' && (
        <span className="mt-1 block text-sm text-muted [overflow-wrap:anywhere]">{explanation}</span>
      )}
    </span>
  )
}

/** Pictures are not loaded from strangers' servers: what readers see is a line of words. */
function Addresses({ offer: { link, imageLink, title } }: { offer: Offer }) {
  return (
    <span className="block min-w-0 text-sm">
      <span className="block truncate" title={link}>
        <ExternalLink href={link}>{shortOf(link)}</ExternalLink>
      </span>
      {imageLink !== null && (
        <span className="block">
          <ExternalLink href={imageLink}>
            Picture<span className="sr-only"> of {title}</span>
          </ExternalLink>
        </span>
      )}
    </span>
  )
}

function shortOf(link: string): string {
  const { host, pathname } = new URL(link)
  return `${host.replace(/^www\./, '')}${pathname === '/' ? '' : pathname}`
}
