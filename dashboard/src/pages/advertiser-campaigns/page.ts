import { lazyRouteComponent } from '@tanstack/react-router'
import { Megaphone } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'advertiser',
  path: 'campaigns',
  label: 'Campaigns',
  keywords: 'bid budget pacing hints pause resume',
  component: lazyRouteComponent(() => import('./campaigns-page.tsx'), 'CampaignsPage'),
  nav: { group: 'project', order: 20, icon: Megaphone },
})
