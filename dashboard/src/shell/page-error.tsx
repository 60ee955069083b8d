import { useRouter, type ErrorComponentProps } from '@tanstack/react-router'
import { DocumentTitle } from '../components/page-header.tsx'
import { ErrorState } from '../components/states.tsx'

/** A page that failed altogether, or whose code could not be loaded (after a deployment, say). */
export function PageError({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const isOldCode = /dynamically imported module|module script/i.test(error instanceof Error ? error.message : '')
  function retry(): void {
    if (isOldCode) window.location.reload()
    reset()
    void router.invalidate()
  }
  const shown = isOldCode ? new Error('The console was updated. Reload the page to continue.') : error
  return (
    <div className="mx-auto max-w-lg py-[8vh]">
      <DocumentTitle title="Error" />
      <ErrorState error={shown} onRetry={retry} />
    </div>
  )
}
