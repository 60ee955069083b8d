import { lazyRouteComponent } from '@tanstack/react-router'
import { Package } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'advertiser',
  path: 'offers',
  label: 'Offers',
  keywords: 'products items review waiting approved rejected stock reports',
  component: lazyRouteComponent(() => import('./offers-page.tsx'), 'OffersPage'),
  nav: { group: 'project', order: 40, icon: Package },
})
