import { lazyRouteComponent } from '@tanstack/react-router'
import { Boxes } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'project',
  path: 'models',
  label: 'Models',
  component: lazyRouteComponent(() => import('./models-page.tsx'), 'ModelsPage'),
  nav: { group: 'build', order: 24, icon: Boxes },
})
