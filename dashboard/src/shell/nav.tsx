import { Link as RouterLink } from '@tanstack/react-router'
import { classes } from '../components/classes.ts'
import { addressOf, mayActAs, type NavGroup, type Page } from '../page.ts'
import { registeredPages } from '../registered-pages.ts'
import { usePlace } from '../session.ts'

const GROUPS: [NavGroup, string | undefined][] = [
  ['project', undefined],
  ['build', 'Build'],
  ['observe', 'Observe'],
  ['money', 'Money'],
  ['manage', 'Manage'],
]

export function Nav({ className, onNavigate }: { className?: string; onNavigate?: () => void }) {
  const { project, publisher } = usePlace()
  const place = { project: project?.id, publisher: publisher?.id }
  const offered = registeredPages.filter(
    ({ scope, nav }) =>
      (scope === 'account' || place[scope] !== undefined) &&
      (nav?.role === undefined || (publisher !== undefined && mayActAs(publisher.role, nav.role))),
  )
  return (
    <nav aria-label="Main" className={className}>
      {GROUPS.map(([group, heading]) => {
        const pages = offered.filter(({ nav }) => nav?.group === group)
        if (pages.length === 0) return null
        return (
          <div key={group} className="mt-5 first:mt-1">
            {heading && <h2 className="mb-1 px-2.5 text-xs font-medium text-faint">{heading}</h2>}
            <ul className="flex flex-col gap-px">
              {pages.map((page) => (
                <NavItem key={page.path} page={page} to={addressOf(page, place)} onNavigate={onNavigate} />
              ))}
            </ul>
          </div>
        )
      })}
    </nav>
  )
}

function NavItem({ page, to, onNavigate }: { page: Page; to: string; onNavigate: (() => void) | undefined }) {
  const Icon = page.nav?.icon
  return (
    <li>
      <RouterLink
        to={to}
        onClick={onNavigate}
        activeOptions={{ exact: page.path === '', includeSearch: false }}
        className={classes(
          'flex h-9 items-center gap-2.5 rounded-md px-2.5 font-medium text-muted transition-colors hover:bg-hover hover:text-ink lg:h-8',
          'aria-[current=page]:bg-accent-soft aria-[current=page]:text-accent-text [&_svg]:size-4 [&_svg]:shrink-0',
        )}
      >
        {Icon && <Icon aria-hidden />}
        {page.label}
      </RouterLink>
    </li>
  )
}
