import type { ComponentProps, ReactNode } from 'react'
import { classes } from './classes.ts'

export interface IconButtonProps extends Omit<ComponentProps<'button'>, 'children'> {
  /** Says what it does, for people who cannot see the icon. */
  label: string
  icon: ReactNode
}

export function IconButton({ label, icon, className, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={classes(
        'inline-flex size-8 shrink-0 items-center justify-center rounded-md text-muted transition-colors hover:bg-hover hover:text-ink',
        'disabled:cursor-not-allowed disabled:opacity-50 [&_svg]:size-4',
        className,
      )}
    >
      {icon}
    </button>
  )
}
