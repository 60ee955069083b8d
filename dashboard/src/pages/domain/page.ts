import { lazyRouteComponent } from '@tanstack/react-router'
import { Globe } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'project',
  path: 'domain',
  label: 'Domain',
  keywords: 'verify dns record txt website',
  component: lazyRouteComponent(() => import('./domain-page.tsx'), 'DomainPage'),
  nav: { group: 'build', order: 15, icon: Globe },
})
