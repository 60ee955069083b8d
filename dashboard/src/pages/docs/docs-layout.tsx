import { Link as RouterLink, Outlet, useLocation } from '@tanstack/react-router'
import { Menu as MenuIcon, Moon, Sun } from 'lucide-react'
import { useRef } from 'react'
import { classes } from '../../components/classes.ts'
import { IconButton } from '../../components/icon-button.tsx'
import { Link } from '../../components/link.tsx'
import { useFocusOnNavigation } from '../../shell/use-focus-on-navigation.ts'
import { Wordmark } from '../../shell/wordmark.tsx'
import { useTheme } from '../../theme.ts'
import { GUIDE_GROUPS } from './guides.ts'

/** Around the documentation, which everybody may read: nothing here asks who is signed in. */
export function DocsLayout() {
  const main = useRef<HTMLElement>(null)
  useFocusOnNavigation(main)
  return (
    <div className="flex min-h-dvh flex-col">
      <a
        href="#main"
        className="sr-only rounded-md bg-raised px-3 py-2 shadow-float focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-60"
      >
        Skip to content
      </a>
      <header className="sticky top-0 z-30 flex h-13 items-center gap-3 border-b border-line bg-surface px-4 sm:px-6">
        <RouterLink to="/docs" className="flex rounded-sm" aria-label="Parley documentation">
          <Wordmark />
        </RouterLink>
        <span aria-hidden className="text-muted">
          Docs
        </span>
        <div className="ml-auto flex items-center gap-1 sm:gap-3">
          <ThemeButton />
          <Link to="/" className="px-1.5">
            Console
          </Link>
        </div>
      </header>
      <div className="mx-auto flex w-full max-w-7xl flex-1 flex-col px-4 sm:px-6 lg:grid lg:grid-cols-[14rem_minmax(0,1fr)] lg:gap-10">
        <SmallNav />
        <aside className="sticky top-13 hidden max-h-[calc(100dvh-3.25rem)] overflow-y-auto py-6 lg:block">
          <DocsNav />
        </aside>
        <main ref={main} id="main" tabIndex={-1} className="min-w-0 pt-4 pb-16 outline-none lg:pt-8">
          <Outlet />
        </main>
      </div>
    </div>
  )
}

function ThemeButton() {
  const [, chooseTheme] = useTheme()
  const isDark = document.documentElement.dataset.theme === 'dark'
  return (
    <IconButton
      label={isDark ? 'Use the light theme' : 'Use the dark theme'}
      icon={isDark ? <Sun aria-hidden /> : <Moon aria-hidden />}
      onClick={() => chooseTheme(isDark ? 'light' : 'dark')}
    />
  )
}

/** On a phone the list of pages is folded away above the page. */
function SmallNav() {
  const { pathname } = useLocation()
  return (
    <details key={pathname} className="mt-4 rounded-md border border-line bg-surface lg:hidden">
      <summary className="flex h-11 list-none items-center gap-2 px-3 font-medium [&::-webkit-details-marker]:hidden [&_svg]:size-4">
        <MenuIcon aria-hidden />
        All pages
      </summary>
      <div className="border-t border-line px-1 pb-3">
        <DocsNav />
      </div>
    </details>
  )
}

function DocsNav() {
  return (
    <nav aria-label="Documentation">
      <Entry to="/docs" isExact>
        Overview
      </Entry>
      <Entry to="/docs/reference">API reference</Entry>
      {GUIDE_GROUPS.map(({ title, guides }) => (
        <div key={title} className="mt-5">
          <h2 className="mb-1 px-2.5 text-xs font-medium text-faint">{title}</h2>
          {guides.map((guide) => (
            <Entry key={guide.name} to={`/docs/${guide.name}`}>
              {guide.title}
            </Entry>
          ))}
        </div>
      ))}
    </nav>
  )
}

function Entry({ to, isExact = false, children }: { to: string; isExact?: boolean; children: string }) {
  return (
    <RouterLink
      to={to}
      activeOptions={{ exact: isExact, includeSearch: false, includeHash: false }}
      className={classes(
        'flex min-h-8 items-center rounded-md px-2.5 py-1 font-medium text-muted transition-colors hover:bg-hover hover:text-ink',
        'aria-[current=page]:bg-accent-soft aria-[current=page]:text-accent-text',
      )}
    >
      {children}
    </RouterLink>
  )
}
