import { Outlet, useParams } from '@tanstack/react-router'
import { Menu as MenuIcon } from 'lucide-react'
import { useRef, useState } from 'react'
import { SandboxBadge } from '../components/badge.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { PaletteOutlet, type Shown } from '../palette/palette-outlet.tsx'
import { SearchButton } from '../palette/search-button.tsx'
import { usePlace } from '../session.ts'
import { AccountMenu } from './account-menu.tsx'
import { Banners } from './banners.tsx'
import { MobileNav } from './mobile-nav.tsx'
import { Nav } from './nav.tsx'
import { ProjectSwitcher } from './project-switcher.tsx'
import { useFocusOnNavigation } from './use-focus-on-navigation.ts'
import { Wordmark } from './wordmark.tsx'

export function Shell() {
  const { project, advertiser } = usePlace()
  const main = useRef<HTMLElement>(null)
  const [shown, show] = useState<Shown>()
  useFocusOnNavigation(main)
  return (
    <div className="lg:grid lg:min-h-dvh lg:grid-cols-[15rem_minmax(0,1fr)]">
      <a
        href="#main"
        className="sr-only rounded-md bg-raised px-3 py-2 shadow-float focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-60"
      >
        Skip to content
      </a>
      <aside className="sticky top-0 hidden h-dvh flex-col border-r border-line bg-surface lg:flex">
        <div className="flex flex-col gap-2 p-3 short:pb-1 tight:gap-1 tight:pt-2">
          <ProjectSwitcher />
          <SearchButton onOpen={() => show('palette')} />
        </div>
        <Nav className="scroll-shadows min-h-0 flex-1 overflow-y-auto px-3 pb-4 short:pb-2 tight:pb-0" />
        <div className="border-t border-line p-3 short:py-2 tight:py-1">
          <AccountMenu />
        </div>
      </aside>
      {/* A page that fills the window, such as a chat, says so; whatever stands above it is taken off its height. */}
      <div className="flex min-w-0 flex-col has-data-fills:h-dvh">
        <header className="sticky top-0 z-30 flex h-13 items-center gap-2 border-b border-line bg-surface px-2 lg:hidden">
          <MobileNav
            trigger={<IconButton label="Open the navigation" icon={<MenuIcon aria-hidden />} className="size-10" />}
          />
          <PlaceName />
          {!advertiser && project?.isSandbox && <SandboxBadge />}
          <div className="ml-auto flex items-center gap-1">
            <SearchButton isSmall onOpen={() => show('palette')} />
            <AccountMenu isSmall />
          </div>
        </header>
        <Banners />
        <main
          ref={main}
          id="main"
          tabIndex={-1}
          className="mx-auto w-full max-w-6xl flex-1 px-4 pt-6 pb-16 outline-none has-data-fills:flex has-data-fills:min-h-0 has-data-fills:flex-col has-data-fills:pb-4 sm:px-8 sm:pt-8"
        >
          <Outlet />
        </main>
      </div>
      <PaletteOutlet shown={shown} onShow={show} />
    </div>
  )
}

/** The name of the page's project, publisher or advertiser: on a phone nothing else on the screen says so. */
function PlaceName() {
  const { project, publisher, advertiser } = usePlace()
  const { project: inProject, publisher: inPublisher } = useParams({ strict: false }) as Record<string, string>
  const ofPublisher = inProject === undefined ? inPublisher && publisher?.name : project?.name
  const name = advertiser?.name ?? ofPublisher
  return (
    <span className="flex min-w-0 items-center gap-2">
      <Wordmark isSmall={name !== undefined} />
      {name !== undefined && <span className="truncate text-base font-semibold tracking-tight">{name}</span>}
    </span>
  )
}
