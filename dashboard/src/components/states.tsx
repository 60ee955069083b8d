import { CircleAlert, RotateCw, type LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { ApiError } from '../api.ts'
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'

export interface EmptyStateProps {
  icon: LucideIcon
  title: string
  /** Explains what belongs here, and what makes it appear. */
  children: ReactNode
  action?: ReactNode
  /** 1 where it is all that the page has to say. */
  level?: 1 | 2
}

export function EmptyState({ icon: Icon, title, children, action, level = 2 }: EmptyStateProps) {
  const Heading = `h${level}` as const
  return (
    <div className="flex flex-col items-center px-6 py-12 text-center">
      <span className="mb-4 flex size-10 items-center justify-center rounded-lg border border-line bg-canvas text-muted">
        <Icon className="size-5" aria-hidden />
      </span>
      <Heading className="text-base font-semibold">{title}</Heading>
      <div className="mt-1 max-w-md text-muted">{children}</div>
      {action && <div className="mt-5">{action}</div>}
    </div>
  )
}

/** Shows an error in place of what could not be loaded. The page around it stays. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const requestId = error instanceof ApiError ? error.requestId : undefined
  return (
    <div role="alert" className="flex flex-col items-center px-6 py-12 text-center">
      <span className="mb-4 flex size-10 items-center justify-center rounded-lg bg-bad-soft text-bad">
        <CircleAlert className="size-5" aria-hidden />
      </span>
      <h2 className="text-base font-semibold">This could not be loaded</h2>
      <p className="mt-1 max-w-md text-muted">{error instanceof Error ? error.message : String(error)}</p>
      {requestId && (
        <p className="mt-3 flex max-w-full items-center gap-1 text-xs text-muted">
          Request <code className="truncate font-mono">{requestId}</code>
          <CopyButton text={requestId} label="Copy the request id" />
        </p>
      )}
      {onRetry && (
        <Button className="mt-4" icon={<RotateCw aria-hidden />} onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}
