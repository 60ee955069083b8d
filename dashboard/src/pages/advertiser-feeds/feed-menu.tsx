import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Ellipsis, Link2, Pause, Pencil, Play, RefreshCw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { api } from '../../api.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { Menu, MenuDivider, MenuItem } from '../../components/menu.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { formatCounted } from '../../formats.ts'
import { useChange } from '../../queries.ts'
import { useAdvertiser } from '../../session.ts'
import type { Feed } from './feed.ts'

export const FEED_READS = [
  'GET /api/advertisers/:advertiser/feeds' as const,
  'GET /api/advertisers/:advertiser/feeds/:feed' as const,
  'GET /api/advertisers/:advertiser/feeds/:feed/runs' as const,
  'GET /api/advertisers/:advertiser/offers' as const,
  'GET /api/advertisers/:advertiser' as const,
]

export function FeedMenu({ feed, onEdit }: { feed: Feed; onEdit(): void }) {
  const { id: advertiser } = useAdvertiser()
  const [isRemoving, setRemoving] = useState(false)
  const fetchNow = useFetchNow(feed)
  const pause = useChange('PUT /api/advertisers/:advertiser/feeds/:feed/paused', FEED_READS)
  const { source, name, id } = feed
  const params = { advertiser, feed: id }
  function turn(): void {
    const isPaused = !source?.isPaused
    const onSuccess = () => toast(isPaused ? `${name} is paused.` : `${name} is resumed, and fetched now.`)
    pause.mutate({ params, body: { isPaused } }, { onSuccess, onError: toastError })
  }
  return (
    <>
      <Menu trigger={<IconButton label={`Actions for ${name}`} icon={<Ellipsis aria-hidden />} />}>
        {source && !source.isPaused && (
          <MenuItem icon={<RefreshCw aria-hidden />} onSelect={() => fetchNow.ask(false)}>
            Fetch now
          </MenuItem>
        )}
        <MenuItem icon={source ? <Pencil aria-hidden /> : <Link2 aria-hidden />} onSelect={onEdit}>
          {source ? 'Edit…' : 'Fetch from an address…'}
        </MenuItem>
        {source && (
          <MenuItem icon={source.isPaused ? <Play aria-hidden /> : <Pause aria-hidden />} onSelect={turn}>
            {source.isPaused ? 'Resume' : 'Pause'}
          </MenuItem>
        )}
        <MenuDivider />
        <MenuItem tone="bad" icon={<Trash2 aria-hidden />} onSelect={() => setRemoving(true)}>
          Remove…
        </MenuItem>
      </Menu>
      <RemoveDialog feed={feed} isOpen={isRemoving} onClose={() => setRemoving(false)} />
    </>
  )
}

/** Has the feed fetched within seconds; `confirmRemoval`: also if most of its offers would be gone. */
export function useFetchNow({ id, name }: Pick<Feed, 'id' | 'name'>) {
  const { id: advertiser } = useAdvertiser()
  const change = useChange('POST /api/advertisers/:advertiser/feeds/:feed/fetch', FEED_READS)
  return {
    isBusy: change.isPending,
    ask(confirmRemoval: boolean): void {
      const onSuccess = () => toast(`${name} is fetched within seconds.`)
      const params = { advertiser, feed: id }
      change.mutate({ params, body: { confirmRemoval } }, { onSuccess, onError: toastError })
    },
  }
}

function RemoveDialog({ feed, isOpen, onClose }: { feed: Feed; isOpen: boolean; onClose(): void }) {
  const { id: advertiser } = useAdvertiser()
  const navigate = useNavigate()
  const client = useQueryClient()
  async function confirm(): Promise<void> {
    await api('DELETE /api/advertisers/:advertiser/feeds/:feed', { params: { advertiser, feed: feed.id } })
    toast(`${feed.name} is removed.`)
    // Its own page is left before it is asked for again.
    await navigate({ to: `/advertisers/${advertiser}/feeds` })
    for (const key of FEED_READS) void client.invalidateQueries({ queryKey: [key] })
  }
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Remove the feed ${feed.name}?`}
      verb="Remove feed"
      onConfirm={confirm}
    >
      {feed.offers === 0
        ? 'It is no longer fetched.'
        : `It is no longer fetched, and its ${formatCounted(feed.offers, 'offer')} ${feed.offers === 1 ? 'is' : 'are'} withdrawn: nothing of it is recommended from now on.`}{' '}
      A feed of the same name that you add later has the same offers again, with their reviews, if it has the same ids.
    </ConfirmDialog>
  )
}
