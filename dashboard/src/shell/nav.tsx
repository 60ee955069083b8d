import { Link as RouterLink, useLocation } from '@tanstack/react-router'
import { useEffect, useRef, type RefObject } from 'react'
import { classes } from '../components/classes.ts'
import { addressOf, isOffered, type NavGroup, type Page } from '../page.ts'
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
  const { project, publisher, advertiser } = usePlace()
  const place = { project: project?.id, publisher: publisher?.id, advertiser: advertiser?.id }
  const offered = registeredPages.filter((page) => isOffered(page, { project, publisher, advertiser }))
  const list = useCurrentInView()
  return (
    <nav ref={list} aria-label="Main" className={className}>
      {GROUPS.map(([group, heading]) => {
        const pages = offered.filter(({ nav }) => nav?.group === group)
        if (pages.length === 0) return null
        return (
          <div key={group} className="mt-5 first:mt-1 lg:short:mt-1.5 lg:tight:mt-0.5">
            {heading && <h2 className="mb-1 px-2.5 text-xs font-medium text-faint lg:short:mb-0">{heading}</h2>}
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

/** Where the list is longer than the window, the page that one is on is never outside of what is seen of it. */
function useCurrentInView(): RefObject<HTMLElement | null> {
  const list = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  useEffect(() => {
    list.current?.querySelector(`[href="${CSS.escape(pathname)}"]`)?.scrollIntoView({ block: 'nearest' })
  }, [pathname])
  return list
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
          'flex h-9 items-center gap-2.5 rounded-md px-2.5 font-medium text-muted transition-colors hover:bg-hover hover:text-ink lg:h-8 lg:short:h-6',
          'aria-[current=page]:bg-accent-soft aria-[current=page]:text-accent-text [&_svg]:size-4 [&_svg]:shrink-0',
        )}
      >
        {Icon && <Icon aria-hidden />}
        {page.label}
      </RouterLink>
    </li>
  )
}
