import { lazyRouteComponent } from '@tanstack/react-router'
import { Settings2 } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'project',
  path: 'settings',
  label: 'Project settings',
  keywords: 'rename models retention delete',
  component: lazyRouteComponent(() => import('./project-settings-page.tsx'), 'ProjectSettingsPage'),
  nav: { group: 'manage', order: 89, icon: Settings2 },
})
