import { lazyRouteComponent } from '@tanstack/react-router'
import { List } from 'lucide-react'
import { definePage } from '../../page.ts'

export const pages = [
  definePage({
    scope: 'project',
    path: 'calls',
    label: 'Calls',
    keywords: 'requests log errors failures latency',
    component: lazyRouteComponent(() => import('./calls-page.tsx'), 'CallsPage'),
    nav: { group: 'observe', order: 35, icon: List },
  }),
  definePage({
    scope: 'project',
    path: 'calls/$call',
    label: 'Call',
    component: lazyRouteComponent(() => import('./call-page.tsx'), 'CallPage'),
  }),
]
