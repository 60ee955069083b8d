import { lazyRouteComponent } from '@tanstack/react-router'
import { Users } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'publisher',
  path: 'team',
  label: 'Team',
  keywords: 'members people invite roles',
  component: lazyRouteComponent(() => import('./team-page.tsx'), 'TeamPage'),
  nav: { group: 'manage', order: 90, icon: Users },
})
