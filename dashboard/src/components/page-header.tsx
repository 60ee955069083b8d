import type { ReactNode } from 'react'
import { Link } from './link.tsx'

export interface PageHeaderProps {
  title: string
  /** One sentence of what the page is for. */
  description: ReactNode
  /** The page's one primary action. */
  action?: ReactNode
  /** The guide to read on in, as in /docs/NAME. */
  docs?: string
  /** Follows the title in the browser's tab, such as the project's name. */
  context?: string | undefined
}

export function PageHeader({ title, description, action, docs, context }: PageHeaderProps) {
  return (
    <header className="mb-6 flex flex-wrap items-start justify-between gap-x-6 gap-y-4">
      <DocumentTitle title={title} context={context} />
      <div className="min-w-0 flex-1 basis-72">
        <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
        <p className="mt-1 max-w-2xl text-muted">
          {description}
          {docs !== undefined && (
            <>
              {' '}
              <Link to={`/docs/${docs}`} aria-label={`Read the docs about ${title}`}>
                Docs
              </Link>
            </>
          )}
        </p>
      </div>
      {action && <div className="flex flex-wrap gap-2">{action}</div>}
    </header>
  )
}

export function DocumentTitle({ title, context }: { title: string; context?: string | undefined }) {
  return <title>{[title, context, 'Parley'].filter(Boolean).join(' · ')}</title>
}
