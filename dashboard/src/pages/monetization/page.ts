import { lazyRouteComponent } from '@tanstack/react-router'
import { HandCoins } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'project',
  path: 'monetization',
  label: 'Monetization',
  keywords: 'recommendations ads earn revenue offers',
  component: lazyRouteComponent(() => import('./monetization-page.tsx'), 'MonetizationPage'),
  nav: { group: 'money', order: 55, icon: HandCoins },
})
