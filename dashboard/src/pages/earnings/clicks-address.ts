import type { Call } from '../../api.ts'
import type { Target } from '../../components/link.tsx'

export type ClickFilters = Omit<NonNullable<Call<'GET /api/projects/:project/clicks'>['query']>, 'after' | 'limit'>

/** The list of clicks, with the filters that leave exactly those that a figure was made of. */
export function clicksAt(
  projectId: string,
  filters: { [Name in keyof ClickFilters]?: ClickFilters[Name] | undefined },
): Target {
  const given = Object.entries(filters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return { to: `/projects/${projectId}/earnings/clicks`, search: Object.fromEntries(given) }
}

/** The receipt of one click. */
export function clickAt(projectId: string, click: string): Target {
  return { to: `/projects/${projectId}/earnings/clicks`, search: { click } }
}
