import { lazyRouteComponent } from '@tanstack/react-router'
import { House } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'advertiser',
  path: '',
  label: 'Overview',
  keywords: 'home start spend clicks',
  component: lazyRouteComponent(() => import('./advertiser-home-page.tsx'), 'AdvertiserHomePage'),
  nav: { group: 'project', order: 10, icon: House },
})
