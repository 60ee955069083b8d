import { Link as RouterLink } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { buttonClasses, type ButtonLook } from './button.tsx'
import { classes } from './classes.ts'

export interface LinkProps {
  to: string
  search?: Record<string, string>
  className?: string
  children: ReactNode
  /** Draws it as a button: for the one action of an empty page, say. */
  look?: ButtonLook
  'aria-label'?: string
}

const PLAIN = 'rounded-sm font-medium text-accent-text underline-offset-4 hover:underline'

export function Link({ to, search, className, look, ...rest }: LinkProps) {
  const style = look === undefined ? PLAIN : buttonClasses(look)
  return <RouterLink to={to} {...(search && { search: search })} className={classes(style, className)} {...rest} />
}

/** Leaves the console: opens beside it and tells nobody where the reader came from. */
export function ExternalLink({ href, children, className }: { href: string; children: ReactNode; className?: string }) {
  return (
    <a href={href} target="_blank" rel="noreferrer noopener" className={classes(PLAIN, className)}>
      {children}
    </a>
  )
}
