import { lazyRouteComponent } from '@tanstack/react-router'
import { KeyRound } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'project',
  path: 'keys',
  label: 'API keys',
  keywords: 'secret publishable token roll credentials',
  component: lazyRouteComponent(() => import('./keys-page.tsx'), 'KeysPage'),
  nav: { group: 'build', order: 20, icon: KeyRound },
})
