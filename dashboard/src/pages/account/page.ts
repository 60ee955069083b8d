import { lazyRouteComponent } from '@tanstack/react-router'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'account',
  path: '',
  label: 'Account settings',
  component: lazyRouteComponent(() => import('./account-page.tsx'), 'AccountPage'),
})
