import { lazyRouteComponent } from '@tanstack/react-router'
import { Settings } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'advertiser',
  path: 'settings',
  label: 'Settings',
  keywords: 'domain name members people team',
  component: lazyRouteComponent(() => import('./advertiser-settings-page.tsx'), 'AdvertiserSettingsPage'),
  nav: { group: 'manage', order: 70, icon: Settings },
})
