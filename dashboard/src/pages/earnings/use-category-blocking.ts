import { toast, toastError } from '../../components/toast.tsx'
import { useApi, useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { CHANGED } from '../monetization/monetization.ts'

export interface CategoryBlocking {
  set(category: string, isBlocked: boolean): void
  isBusy: boolean
}

/** Undefined until it is known what is blocked already: a list is written as a whole. */
export function useCategoryBlocking(): CategoryBlocking | undefined {
  const project = useProject()
  const params = { project: project.id }
  const change = useChange('PATCH /api/projects/:project/monetization', [...CHANGED])
  const { data } = useApi('GET /api/projects/:project/monetization', { params }, { enabled: project.may('admin') })
  if (data === undefined) return undefined
  return {
    isBusy: change.isPending,
    set(category, isBlocked) {
      const others = data.blockedCategories.filter((each) => each.toLowerCase() !== category.toLowerCase())
      const told = isBlocked ? `${category} is blocked in this project.` : `${category} may be recommended again.`
      change.mutate(
        { params, body: { blockedCategories: isBlocked ? [...others, category] : others } },
        { onSuccess: () => toast(told), onError: toastError },
      )
    },
  }
}
