import { lazyRouteComponent } from '@tanstack/react-router'
import { House } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'project',
  path: '',
  label: 'Home',
  keywords: 'overview dashboard start',
  component: lazyRouteComponent(() => import('./home-page.tsx'), 'HomePage'),
  nav: { group: 'project', order: 0, icon: House },
})
