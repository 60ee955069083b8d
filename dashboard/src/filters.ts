/** Filters live in the address, so that a filtered view can be sent to a colleague and survives a reload. */
import { useNavigate, useSearch } from '@tanstack/react-router'

export type Filters<Name extends string> = Partial<Record<Name, string>>

export function useFilters<Name extends string>(
  names: readonly Name[],
): [Filters<Name>, (changes: Filters<Name>) => void] {
  const search = useSearch({ strict: false }) as Record<string, string>
  const navigate = useNavigate()
  const filters: Filters<Name> = {}
  for (const name of names) if (search[name]) filters[name] = search[name]
  function change(changes: Filters<Name>): void {
    const next = Object.fromEntries(Object.entries({ ...search, ...changes }).filter(([, value]) => value))
    void navigate({ to: '.', search: next, replace: true, resetScroll: false } as never)
  }
  return [filters, change]
}

/** A dialog that is open because the address says so (`?open=…`): it can be linked to, and the command palette does. */
export function useDialogInAddress(name: string): [boolean, (isOpen: boolean) => void] {
  const [{ open }, change] = useFilters(['open'] as const)
  return [open === name, (isOpen) => change({ open: isOpen ? name : '' })]
}

/** Plain text both ways: the router's own format would turn `q=123` into a number and quote it again. */
export function parseSearch(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search))
}

export function stringifySearch(search: Record<string, unknown>): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}
