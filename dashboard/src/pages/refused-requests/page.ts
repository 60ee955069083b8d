import { lazyRouteComponent } from '@tanstack/react-router'
import { ShieldX } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'project',
  path: 'refused-requests',
  label: 'Refused requests',
  component: lazyRouteComponent(() => import('./refused-requests-page.tsx'), 'RefusedRequestsPage'),
  nav: { group: 'observe', order: 36, icon: ShieldX },
})
