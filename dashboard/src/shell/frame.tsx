import { Outlet } from '@tanstack/react-router'
import { Wordmark } from './wordmark.tsx'

/** Around pages that are about one thing: signing in, or creating a project. */
export function Frame() {
  return (
    <div className="flex min-h-dvh flex-col items-center px-4 py-8 sm:pt-[10vh]">
      <div className="w-full max-w-[25rem]">
        <header className="mb-8 flex justify-center">
          <Wordmark />
        </header>
        <main>
          <Outlet />
        </main>
      </div>
    </div>
  )
}
