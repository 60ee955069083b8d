import { toast, toastError } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { CHANGED } from './monetization.ts'

export interface Blocking {
  set(advertiser: { id: string; name: string }, isBlocked: boolean): void
  /** The advertiser that is being blocked or unblocked now. */
  busyWith: string | undefined
}

export function useBlocking(): Blocking {
  const project = useProject()
  const change = useChange('PUT /api/projects/:project/monetization/blocked-advertisers', [...CHANGED])
  return {
    busyWith: change.isPending ? change.variables.body.advertiser : undefined,
    set({ id, name }, isBlocked) {
      const told = isBlocked ? `${name} is blocked in this project.` : `${name} may be recommended again.`
      change.mutate(
        { params: { project: project.id }, body: { advertiser: id, isBlocked } },
        { onSuccess: () => toast(told), onError: toastError },
      )
    },
  }
}
