import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Toasts } from './components/toast.tsx'
import { createQueryClient } from './queries.ts'
import { createConsoleRouter } from './router.tsx'
import './styles.css'
import { followSystemTheme } from './theme.ts'

const queryClient = createQueryClient(() => void askToSignIn())
const router = createConsoleRouter(queryClient)

/** The session has ended while a page was open: what was read in it is forgotten, and the page waits behind the sign-in. */
async function askToSignIn(): Promise<void> {
  const { pathname, search } = window.location
  const isGuarded = router.state.matches.some(({ routeId }) => String(routeId).startsWith('/guarded'))
  // Several requests may be refused: the first refusal has already changed the address.
  if (!isGuarded || pathname === '/sign-in') return
  await router.navigate({ to: '/sign-in', search: { next: `${pathname}${search}` } })
  // Only now: the page that is left could not be drawn without it.
  queryClient.clear()
}

followSystemTheme()
const root = document.getElementById('root')
if (root === null) throw new Error('index.html has no #root')
createRoot(root).render(
  <StrictMode>
    {/* The content security policy allows no inline style elements; styles.css has what Base UI would put there. */}
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
        <Toasts />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
