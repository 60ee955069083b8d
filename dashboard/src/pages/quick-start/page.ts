import { lazyRouteComponent } from '@tanstack/react-router'
import { Rocket } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'project',
  path: 'quick-start',
  label: 'Quick start',
  keywords: 'code example sdk curl install documentation',
  component: lazyRouteComponent(() => import('./quick-start-page.tsx'), 'QuickStartPage'),
  nav: { group: 'build', order: 10, icon: Rocket },
})
