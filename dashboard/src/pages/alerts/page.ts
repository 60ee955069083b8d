import { lazyRouteComponent } from '@tanstack/react-router'
import { BellRing } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'project',
  path: 'alerts',
  label: 'Alerts',
  keywords: 'webhooks events notifications error rate spend spike endpoint signature',
  component: lazyRouteComponent(() => import('./alerts-page.tsx'), 'AlertsPage'),
  nav: { group: 'manage', order: 87, icon: BellRing },
})
