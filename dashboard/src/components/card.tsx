import type { ReactNode } from 'react'
import { classes } from './classes.ts'

export interface CardProps {
  title?: ReactNode
  description?: ReactNode
  action?: ReactNode
  /** Below a line, at the bottom: where a settings form has its button. */
  footer?: ReactNode
  children?: ReactNode
  className?: string
  /** Without padding, for tables and code that reach the edges. */
  isFlush?: boolean
}

export function Card({ title, description, action, footer, children, className, isFlush = false }: CardProps) {
  return (
    <section className={classes('rounded-lg border border-line bg-surface shadow-card', className)}>
      {title && (
        <header className="flex flex-wrap items-start justify-between gap-3 px-5 pt-4">
          <div className="min-w-0 flex-1 basis-40">
            <h2 className="text-base font-semibold">{title}</h2>
            {description && <p className="mt-0.5 text-sm text-muted">{description}</p>}
          </div>
          {action}
        </header>
      )}
      {children && <div className={isFlush ? classes(title ? 'mt-4' : '') : 'px-5 py-4'}>{children}</div>}
      {footer && (
        <footer className="flex flex-wrap items-center justify-between gap-3 rounded-b-lg border-t border-line bg-canvas px-5 py-3">
          {footer}
        </footer>
      )}
    </section>
  )
}
