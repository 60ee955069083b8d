import type { ReactNode } from 'react'
import { DocumentTitle } from '../components/page-header.tsx'

export interface FrameCardProps {
  title: string
  description?: ReactNode
  children?: ReactNode
  /** Below the card: the way to the neighbouring page. */
  below?: ReactNode
}

export function FrameCard({ title, description, children, below }: FrameCardProps) {
  return (
    <>
      <DocumentTitle title={title} />
      <div className="rounded-xl border border-line bg-surface px-5 py-6 shadow-card sm:px-8 sm:py-8">
        <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
        {description && <div className="mt-1.5 text-muted">{description}</div>}
        {children && <div className="mt-6">{children}</div>}
      </div>
      {below && <p className="mt-5 text-center text-muted">{below}</p>}
    </>
  )
}
