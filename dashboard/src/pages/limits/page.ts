import { lazyRouteComponent } from '@tanstack/react-router'
import { Gauge } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'project',
  path: 'limits',
  label: 'Limits',
  keywords: 'budget rate cap quota',
  component: lazyRouteComponent(() => import('./limits-page.tsx'), 'LimitsPage'),
  nav: { group: 'money', order: 52, icon: Gauge },
})
