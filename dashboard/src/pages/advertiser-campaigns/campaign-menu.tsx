import { Ellipsis, Pause, Pencil, Play } from 'lucide-react'
import { IconButton } from '../../components/icon-button.tsx'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'
import { useAdvertiser } from '../../session.ts'
import type { Campaign } from './campaign-fields.ts'

export function CampaignMenu({ campaign, onEdit }: { campaign: Campaign; onEdit(): void }) {
  const { id: advertiser } = useAdvertiser()
  const change = useChange('PUT /api/advertisers/:advertiser/campaigns/:campaign/status', [
    'GET /api/advertisers/:advertiser/campaigns',
    'GET /api/advertisers/:advertiser',
  ])
  const isPaused = campaign.status === 'paused'
  function turn(): void {
    const status = isPaused ? 'active' : 'paused'
    const onSuccess = () => toast(`${campaign.name} is ${isPaused ? 'resumed' : 'paused'}.`)
    const params = { advertiser, campaign: campaign.id }
    change.mutate({ params, body: { status } }, { onSuccess, onError: toastError })
  }
  return (
    <Menu trigger={<IconButton label={`Actions for ${campaign.name}`} icon={<Ellipsis aria-hidden />} />}>
      <MenuItem icon={<Pencil aria-hidden />} onSelect={onEdit}>
        Edit
      </MenuItem>
      <MenuItem icon={isPaused ? <Play aria-hidden /> : <Pause aria-hidden />} onSelect={turn}>
        {isPaused ? 'Resume' : 'Pause'}
      </MenuItem>
    </Menu>
  )
}
