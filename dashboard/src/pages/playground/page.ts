import { lazyRouteComponent } from '@tanstack/react-router'
import { SquareTerminal } from 'lucide-react'
import { definePage } from '../../page.ts'

export const page = definePage({
  scope: 'project',
  path: 'playground',
  label: 'Playground',
  keywords: 'try chat model prompt compare test',
  component: lazyRouteComponent(() => import('./playground-page.tsx'), 'PlaygroundPage'),
  nav: { group: 'build', order: 25, icon: SquareTerminal },
})
