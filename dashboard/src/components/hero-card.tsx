import type { ReactNode } from 'react'

export interface HeroCardProps {
  title: ReactNode
  description?: ReactNode
  action?: ReactNode
  /** The page's one chart. */
  children: ReactNode
  /** A list of figures beside it, or below it on a small screen. */
  figures: ReactNode
}

/** The main content of a page: one large chart, with its figures at its side. */
export function HeroCard({ title, description, action, children, figures }: HeroCardProps) {
  return (
    <section className="rounded-lg border border-line bg-surface shadow-card lg:grid lg:grid-cols-[minmax(0,1fr)_17rem]">
      <div className="flex min-w-0 flex-col px-5 py-4">
        <header className="mb-4 flex flex-wrap items-start justify-between gap-3">
          <div className="min-w-0 flex-1 basis-40">
            <h2 className="text-base font-semibold">{title}</h2>
            {description && <p className="mt-0.5 text-sm text-muted">{description}</p>}
          </div>
          {action}
        </header>
        <div className="flex min-h-0 flex-1 flex-col justify-center">{children}</div>
      </div>
      <div className="border-line py-1.5 max-lg:border-t lg:border-l">{figures}</div>
    </section>
  )
}
