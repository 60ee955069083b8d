import { Loader2 } from 'lucide-react'
import type { ComponentProps, ReactNode } from 'react'
import { classes } from './classes.ts'

export type ButtonLook = 'primary' | 'secondary' | 'ghost' | 'danger' | 'quiet-danger'
type Size = 'sm' | 'md' | 'lg'

export interface ButtonProps extends ComponentProps<'button'> {
  look?: ButtonLook
  size?: Size
  icon?: ReactNode
  /** Something is under way: the button keeps its width, shows it, and cannot be pressed twice. */
  isBusy?: boolean
}

const LOOKS: Record<ButtonLook, string> = {
  primary: 'bg-accent text-on-accent shadow-button hover:bg-accent-hover',
  secondary: 'border border-line-strong bg-surface text-ink shadow-button hover:bg-hover',
  ghost: 'text-muted hover:bg-hover hover:text-ink',
  'quiet-danger': 'border border-line-strong bg-surface text-bad shadow-button hover:bg-bad-soft',
  danger: 'bg-bad-fill text-white shadow-button hover:bg-bad-fill-hover',
}

const SIZES: Record<Size, string> = {
  sm: 'h-8 gap-1.5 px-2.5 text-sm sm:h-7',
  md: 'h-9 gap-2 px-3 text-base sm:h-8',
  lg: 'h-10 gap-2 px-4 text-base',
}

/** For links that look like buttons, too. */
export function buttonClasses(look: ButtonLook = 'secondary', size: Size = 'md'): string {
  return classes(
    'inline-flex shrink-0 items-center justify-center rounded-md font-medium whitespace-nowrap transition-colors select-none',
    'disabled:cursor-not-allowed disabled:opacity-50 [&_svg]:size-4 [&_svg]:shrink-0',
    LOOKS[look],
    SIZES[size],
  )
}

export function Button({ look, size, icon, isBusy = false, className, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      aria-busy={isBusy || undefined}
      disabled={rest.disabled || isBusy}
      className={classes(buttonClasses(look, size), className)}
    >
      {isBusy ? <Loader2 className="animate-spin" aria-hidden /> : icon}
      {children}
    </button>
  )
}
