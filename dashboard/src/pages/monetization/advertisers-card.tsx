import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { FilterInput } from '../../components/filter-bar.tsx'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import type { Monetization } from './monetization.ts'
import { useBlocking, type Blocking } from './use-blocking.ts'

type Advertiser = Monetization['blockedAdvertisers'][number]

/** Takes effect at once, like the buttons in the list of recommendations. */
export function AdvertisersCard({ blocked }: { blocked: Advertiser[] }) {
  const project = useProject()
  const mayChange = project.may('admin')
  const blocking = useBlocking()
  const [search, setSearch] = useState<string>()
  const call = { params: { project: project.id }, query: { name: search ?? '' } }
  const found = useApi('GET /api/projects/:project/monetization/catalogue', call, { enabled: search !== undefined })
  const blockedIds = new Set(blocked.map(({ id }) => id))
  return (
    <Card title="Blocked advertisers" description="None of their offers is recommended in this project.">
      <div className="flex flex-col gap-4">
        {blocked.length === 0 ? (
          <p className="text-muted">No one is blocked.</p>
        ) : (
          <AdvertiserList label="Blocked" advertisers={blocked} {...{ blockedIds, blocking, mayChange }} />
        )}
        {mayChange && (
          <div className="flex flex-col gap-3 border-t border-line pt-4">
            <div className="flex">
              <FilterInput
                label="Find an advertiser to block"
                placeholder="Name or domain"
                value={search}
                onChange={setSearch}
              />
            </div>
            {search !== undefined && (
              <div aria-live="polite" className="min-h-11">
                {found.data?.advertisers.length === 0 && <p className="text-muted">No advertiser has this name.</p>}
                {found.error && <p className="text-bad">{found.error.message}</p>}
                {found.data && found.data.advertisers.length > 0 && (
                  <AdvertiserList
                    label="Found"
                    advertisers={found.data.advertisers}
                    {...{ blockedIds, blocking, mayChange }}
                  />
                )}
              </div>
            )}
          </div>
        )}
      </div>
    </Card>
  )
}

interface AdvertiserListProps {
  label: string
  advertisers: Advertiser[]
  blockedIds: Set<string>
  blocking: Blocking
  mayChange: boolean
}

function AdvertiserList({ label, advertisers, blockedIds, blocking, mayChange }: AdvertiserListProps) {
  return (
    <ul aria-label={label} className="-my-1.5 divide-y divide-line">
      {advertisers.map((advertiser) => {
        const { id, name, domain } = advertiser
        const verb = blockedIds.has(id) ? 'Unblock' : 'Block'
        return (
          <li key={id} className="flex items-center justify-between gap-3 py-1.5">
            <span className="min-w-0 truncate">
              <span className="font-medium">{name}</span> <span className="text-sm text-muted">{domain}</span>
            </span>
            <Button
              size="sm"
              disabled={!mayChange}
              isBusy={blocking.busyWith === id}
              aria-label={`${verb} ${name}`}
              onClick={() => blocking.set(advertiser, !blockedIds.has(id))}
            >
              {verb}
            </Button>
          </li>
        )
      })}
    </ul>
  )
}
