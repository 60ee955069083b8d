import { lazyRouteComponent } from '@tanstack/react-router'
import { ScrollText } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'publisher',
  path: 'audit-log',
  label: 'Audit log',
  keywords: 'history changes who csv',
  component: lazyRouteComponent(() => import('./audit-log-page.tsx'), 'AuditLogPage'),
  nav: { group: 'manage', order: 91, icon: ScrollText, role: 'admin' },
})
