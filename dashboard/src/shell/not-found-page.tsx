import { Compass } from 'lucide-react'
import { Link } from '../components/link.tsx'
import { DocumentTitle } from '../components/page-header.tsx'
import { EmptyState } from '../components/states.tsx'

export function NotFoundPage() {
  return (
    <main className="mx-auto max-w-lg py-[12vh]">
      <DocumentTitle title="Not found" />
      <EmptyState
        icon={Compass}
        level={1}
        title="Page not found"
        action={
          <Link to="/" look="secondary">
            Back to the console
          </Link>
        }
      >
        The address may be mistyped, or it leads to something that was deleted or is not yours.
      </EmptyState>
    </main>
  )
}
