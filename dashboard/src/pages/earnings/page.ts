import { lazyRouteComponent } from '@tanstack/react-router'
import { PiggyBank } from 'lucide-react'
import { definePage } from '../../page.ts'

export const pages = [
  definePage({
    scope: 'project',
    path: 'earnings',
    label: 'Earnings',
    keywords: 'revenue income clicks paid payout profit loss ads',
    component: lazyRouteComponent(() => import('./earnings-page.tsx'), 'EarningsPage'),
    nav: { group: 'money', order: 56, icon: PiggyBank },
  }),
  definePage({
    scope: 'project',
    path: 'earnings/clicks',
    label: 'Clicks',
    component: lazyRouteComponent(() => import('./clicks-page.tsx'), 'ClicksPage'),
  }),
]
