import { lazyRouteComponent } from '@tanstack/react-router'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'account',
  path: '',
  label: 'Account settings',
  keywords: 'password passkey two-factor 2fa devices profile email delete',
  component: lazyRouteComponent(() => import('./account-page.tsx'), 'AccountPage'),
})
