import { lazyRouteComponent } from '@tanstack/react-router'
import { Receipt } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'project',
  path: 'costs',
  label: 'Costs',
  keywords: 'spend prices money tokens',
  component: lazyRouteComponent(() => import('./costs-page.tsx'), 'CostsPage'),
  nav: { group: 'observe', order: 32, icon: Receipt },
})
