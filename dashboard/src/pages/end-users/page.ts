import { lazyRouteComponent } from '@tanstack/react-router'
import { ContactRound } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'project',
  path: 'end-users',
  label: 'End users',
  keywords: 'customers people erase gdpr',
  component: lazyRouteComponent(() => import('./end-users-page.tsx'), 'EndUsersPage'),
  nav: { group: 'observe', order: 42, icon: ContactRound },
})
