import { lazyRouteComponent } from '@tanstack/react-router'
import { Wallet } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'advertiser',
  path: 'wallet',
  label: 'Wallet',
  keywords: 'balance credit top up pay spend invoice',
  component: lazyRouteComponent(() => import('./advertiser-wallet-page.tsx'), 'AdvertiserWalletPage'),
  nav: { group: 'money', order: 60, icon: Wallet },
})
