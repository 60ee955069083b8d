import { Link as RouterLink } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { buttonClasses, type ButtonLook } from './button.tsx'
import { classes } from './classes.ts'

/** Somewhere in the console. */
export interface Target {
  to: string
  search?: Record<string, string>
  /** Where on the page. */
  hash?: string
}

export interface LinkProps extends Target {
  className?: string
  children: ReactNode
  /** Draws it as a button: for the one action of an empty page, say. */
  look?: ButtonLook
  'aria-label'?: string
}

const PLAIN = 'rounded-sm font-medium text-accent-text underline-offset-4 hover:underline'

export function Link({ to, search, hash, className, look, ...rest }: LinkProps) {
  const style = look === undefined ? PLAIN : buttonClasses(look)
  const place = { ...(search && { search }), ...(hash !== undefined && { hash }) }
  return <RouterLink to={to} {...place} className={classes(style, className)} {...rest} />
}

const FIGURE =
  'rounded-sm underline decoration-line-strong decoration-dotted underline-offset-4 hover:text-accent-text hover:decoration-solid'

/** A figure that leads to what it was made of. `of` says to whom cannot see it what that is. */
export function FigureLink({ to, search, of, children }: Target & { of: string; children: ReactNode }) {
  return (
    <RouterLink to={to} {...(search && { search })} className={FIGURE}>
      {children}
      <span className="sr-only"> {of}</span>
    </RouterLink>
  )
}

/** Leaves the console: opens beside it and tells nobody where the reader came from. */
export function ExternalLink({ href, children, className }: { href: string; children: ReactNode; className?: string }) {
  return (
    <a href={href} target="_blank" rel="noreferrer noopener" className={classes(PLAIN, className)}>
      {children}
    </a>
  )
}
