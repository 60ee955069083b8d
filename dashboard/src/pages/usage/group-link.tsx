import type { ReactNode } from 'react'
import { callsAt, type CallFilters } from '../../calls-address.ts'
import { FigureLink } from '../../components/link.tsx'
import { ofGroup, type Usage } from './shown.ts'

export interface GroupLinkProps {
  usage: Usage | undefined
  group: string
  /** Undefined on the page of all projects: there only a project has a list of its calls. */
  projectId: string | undefined
  outcome?: 'failed'
  /** Within the time of the page; all of it when absent. */
  span?: { from: string; to: string }
  of: string
  children: ReactNode
}

/** A figure of one model, key or project. */
export function GroupLink({ usage, group, projectId, outcome, span, of, children }: GroupLinkProps) {
  const owner = usage?.by === 'project' ? group : projectId
  if (usage === undefined || owner === undefined) return children
  const { from, to } = span ?? usage
  const filters: CallFilters = { from, to, ...ofGroup(usage, group), ...(outcome && { outcome }) }
  return (
    <FigureLink {...callsAt(owner, filters)} of={of}>
      {children}
    </FigureLink>
  )
}
