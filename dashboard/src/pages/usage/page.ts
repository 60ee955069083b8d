import { lazyRouteComponent } from '@tanstack/react-router'
import { ChartColumn, Layers } from 'lucide-react'
import { definePage } from '../../page.ts'

export const pages = [
  definePage({
    scope: 'project',
    path: 'usage',
    label: 'Usage',
    keywords: 'charts statistics tokens calls over time csv',
    component: lazyRouteComponent(() => import('./usage-page.tsx'), 'UsagePage'),
    nav: { group: 'observe', order: 30, icon: ChartColumn },
  }),
  definePage({
    scope: 'publisher',
    path: 'usage',
    label: 'Usage of all projects',
    keywords: 'compare usage sites',
    component: lazyRouteComponent(() => import('./usage-page.tsx'), 'PublisherUsagePage'),
    nav: { group: 'manage', order: 88, icon: Layers },
  }),
]
