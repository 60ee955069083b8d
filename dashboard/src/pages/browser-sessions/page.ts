import { lazyRouteComponent } from '@tanstack/react-router'
import { AppWindow } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'project',
  path: 'browser-sessions',
  label: 'Browser sessions',
  keywords: 'page secrets tokens end',
  component: lazyRouteComponent(() => import('./browser-sessions-page.tsx'), 'BrowserSessionsPage'),
  nav: { group: 'build', order: 22, icon: AppWindow },
})
