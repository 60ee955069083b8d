import { lazyRouteComponent } from '@tanstack/react-router'
import { Wallet } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'project',
  path: 'wallet',
  label: 'Wallet',
  keywords: 'balance credit top up pay ledger billing invoice',
  component: lazyRouteComponent(() => import('./wallet-page.tsx'), 'WalletPage'),
  nav: { group: 'money', order: 50, icon: Wallet },
})
