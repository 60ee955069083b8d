import { lazyRouteComponent } from '@tanstack/react-router'
import { ChartColumn } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'advertiser',
  path: 'reports',
  label: 'Reports',
  keywords: 'statistics figures clicks spend conversions hints categories csv',
  component: lazyRouteComponent(() => import('./reports-page.tsx'), 'ReportsPage'),
  nav: { group: 'observe', order: 50, icon: ChartColumn },
})
