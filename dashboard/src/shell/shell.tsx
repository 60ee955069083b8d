import { Outlet, useLocation } from '@tanstack/react-router'
import { Menu as MenuIcon } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { IconButton } from '../components/icon-button.tsx'
import { AccountMenu } from './account-menu.tsx'
import { Banners } from './banners.tsx'
import { MobileNav } from './mobile-nav.tsx'
import { Nav } from './nav.tsx'
import { ProjectSwitcher } from './project-switcher.tsx'
import { Wordmark } from './wordmark.tsx'

export function Shell() {
  const main = useRef<HTMLElement>(null)
  useFocusOnNavigation(main)
  return (
    <div className="lg:grid lg:min-h-dvh lg:grid-cols-[15rem_minmax(0,1fr)]">
      <a
        href="#main"
        className="sr-only rounded-md bg-raised px-3 py-2 shadow-float focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-60"
      >
        Skip to the content
      </a>
      <aside className="sticky top-0 hidden h-dvh flex-col border-r border-line bg-surface lg:flex">
        <div className="p-3">
          <ProjectSwitcher />
        </div>
        <Nav className="flex-1 overflow-y-auto px-3 pb-4" />
        <div className="border-t border-line p-3">
          <AccountMenu />
        </div>
      </aside>
      <div className="flex min-w-0 flex-col">
        <header className="sticky top-0 z-30 flex h-13 items-center gap-2 border-b border-line bg-surface px-2 lg:hidden">
          <MobileNav
            trigger={<IconButton label="Open the navigation" icon={<MenuIcon aria-hidden />} className="size-10" />}
          />
          <Wordmark />
          <div className="ml-auto">
            <AccountMenu isSmall />
          </div>
        </header>
        <Banners />
        <main
          ref={main}
          id="main"
          tabIndex={-1}
          className="mx-auto w-full max-w-6xl flex-1 px-4 pt-6 pb-16 outline-none sm:px-8 sm:pt-8"
        >
          <Outlet />
        </main>
      </div>
    </div>
  )
}

/** A new page begins at its top for the keyboard and the screen reader as well, not at the link that led to it. */
function useFocusOnNavigation(main: React.RefObject<HTMLElement | null>): void {
  const { pathname } = useLocation()
  const last = useRef(pathname)
  useEffect(() => {
    if (last.current !== pathname) main.current?.focus({ preventScroll: true })
    last.current = pathname
  }, [pathname, main])
}
