/**
 * Four kinds of pages: before the sign-in, the documentation, behind the sign-in but without the navigation (creating a
 * project), and inside the shell. Those inside the shell describe themselves in pages/<noun>/page.ts.
 */
import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { ApiError } from './api.ts'
import { parseSearch, stringifySearch } from './filters.ts'
import { addressOf, patternOf, type Page } from './page.ts'
import { ProofOutlet } from './proof/proof-outlet.tsx'
import { registeredPages } from './registered-pages.ts'
import { meQuery, placeOf, rememberProject, type Me, type PlaceParams } from './session.ts'
import { NotFoundPage } from './shell/not-found-page.tsx'
import { PageError } from './shell/page-error.tsx'

interface Context {
  queryClient: QueryClient
}

const rootRoute = createRootRouteWithContext<Context>()({ component: Outlet })

const frameRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'frame',
  component: lazyRouteComponent(() => import('./shell/frame.tsx'), 'Frame'),
})

const signPages = {
  '/sign-in': lazyRouteComponent(() => import('./pages/sign/sign-in-page.tsx'), 'SignInPage'),
  '/sign-up': lazyRouteComponent(() => import('./pages/sign/sign-up-page.tsx'), 'SignUpPage'),
  '/check-mail': lazyRouteComponent(() => import('./pages/sign/check-mail-page.tsx'), 'CheckMailPage'),
  '/activate': lazyRouteComponent(() => import('./pages/sign/confirm-page.tsx'), 'ConfirmPage'),
  '/forgot-password': lazyRouteComponent(() => import('./pages/sign/forgot-password-page.tsx'), 'ForgotPasswordPage'),
  '/reset-password': lazyRouteComponent(() => import('./pages/sign/reset-password-page.tsx'), 'ResetPasswordPage'),
}

/** The documentation: for everybody, so nothing is asked of the API. */
const docsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/docs',
  component: lazyRouteComponent(() => import('./pages/docs/docs-layout.tsx'), 'DocsLayout'),
})

const docsPages = {
  '/': lazyRouteComponent(() => import('./pages/docs/docs-page.tsx'), 'DocsPage'),
  reference: lazyRouteComponent(() => import('./pages/docs/reference-page.tsx'), 'ReferencePage'),
  $guide: lazyRouteComponent(() => import('./pages/docs/guide-page.tsx'), 'GuidePage'),
}

/** Everything below it knows who is signed in. */
const guardedRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'guarded',
  beforeLoad: async ({ context, location }) => ({ me: await signedIn(context.queryClient, location.href) }),
  component: Guarded,
})

function Guarded() {
  return (
    <>
      <Outlet />
      <ProofOutlet />
    </>
  )
}

const focusedRoute = createRoute({
  getParentRoute: () => guardedRoute,
  id: 'focused',
  component: lazyRouteComponent(() => import('./shell/frame.tsx'), 'Frame'),
})

const focusedPages = {
  '/new-project': lazyRouteComponent(() => import('./pages/new-project/new-project-page.tsx'), 'NewProjectPage'),
  '/advertise': lazyRouteComponent(() => import('./pages/advertise/advertise-page.tsx'), 'AdvertisePage'),
  '/invitations': lazyRouteComponent(() => import('./pages/invitations/invitations-page.tsx'), 'InvitationsPage'),
}

const shellRoute = createRoute({
  getParentRoute: () => guardedRoute,
  id: 'shell',
  component: lazyRouteComponent(() => import('./shell/shell.tsx'), 'Shell'),
})

const homeRoute = createRoute({
  getParentRoute: () => guardedRoute,
  path: '/',
  beforeLoad: ({ context }) => {
    redirect({ to: firstAddress(context.me), replace: true, throw: true })
  },
})

const firstProjectPage = registeredPages.find(({ scope, nav }) => scope === 'project' && nav !== undefined)

/** /projects/:project alone leads to the project's first page, unless that is the page itself. */
const projectRoute = createRoute({
  getParentRoute: () => guardedRoute,
  path: '/projects/$project',
  beforeLoad: ({ params }) => {
    if (firstProjectPage === undefined) notFound({ throw: true })
    else redirect({ to: addressOf(firstProjectPage, { project: params.project }), replace: true, throw: true })
  },
})

export function createConsoleRouter(queryClient: QueryClient) {
  const signRoutes = Object.entries(signPages).map(([path, component]) =>
    createRoute({ getParentRoute: () => frameRoute, path, component }),
  )
  const docsRoutes = Object.entries(docsPages).map(([path, component]) =>
    createRoute({ getParentRoute: () => docsRoute, path, component }),
  )
  const focusedRoutes = Object.entries(focusedPages).map(([path, component]) =>
    createRoute({ getParentRoute: () => focusedRoute, path, component }),
  )
  const routeTree = rootRoute.addChildren([
    frameRoute.addChildren(signRoutes),
    docsRoute.addChildren(docsRoutes),
    guardedRoute.addChildren([
      homeRoute,
      focusedRoute.addChildren(focusedRoutes),
      shellRoute.addChildren(registeredPages.map(routeOf)),
      ...(firstProjectPage?.path === '' ? [] : [projectRoute]),
    ]),
  ])
  return createRouter({
    routeTree,
    context: { queryClient },
    defaultPreload: 'intent',
    // Data is react-query's business; the router only brings code and guards.
    defaultPreloadStaleTime: 0,
    scrollRestoration: true,
    parseSearch,
    stringifySearch,
    defaultNotFoundComponent: NotFoundPage,
    defaultErrorComponent: PageError,
  })
}

function routeOf(page: Page) {
  return createRoute({
    getParentRoute: () => shellRoute,
    path: patternOf(page),
    component: page.component,
    beforeLoad: ({ context, params }) => mustBeMine(context.me, params as PlaceParams),
  })
}

async function signedIn(queryClient: QueryClient, href: string): Promise<Me> {
  try {
    return await queryClient.ensureQueryData(meQuery)
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error
    return redirect({ to: '/sign-in', search: href === '/' ? {} : { next: href }, throw: true }) as never
  }
}

/** "Not yours" and "not there" look the same, here as in the API. */
function mustBeMine(me: Me, params: PlaceParams): void {
  const { project, publisher, advertiser } = placeOf(me, params)
  if (params.advertiser !== undefined && advertiser === undefined) notFound({ throw: true })
  if (params.publisher !== undefined && publisher?.id !== params.publisher) notFound({ throw: true })
  if (params.project === undefined) return
  if (project?.id !== params.project) notFound({ throw: true })
  rememberProject(params.project)
}

/** Where one lands: the last project's first page, an advertiser's, the first project to be created, or an invitation that waits. */
function firstAddress(me: Me): string {
  const { project } = placeOf(me, {})
  if (project !== undefined) return `/projects/${project.id}`
  const [advertiser] = me.advertisers
  if (advertiser !== undefined) return `/advertisers/${advertiser.id}`
  return me.invitations > 0 ? '/invitations' : '/new-project'
}
