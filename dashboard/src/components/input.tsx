import { Eye, EyeOff } from 'lucide-react'
import { useState, type ComponentProps } from 'react'
import { classes } from './classes.ts'

export const CONTROL = classes(
  'w-full rounded-md border border-line-strong bg-surface text-base text-ink shadow-button transition-colors',
  'hover:border-faint focus-visible:border-accent-text focus-visible:outline-1 focus-visible:outline-offset-0 focus-visible:outline-accent-text',
  'aria-invalid:border-bad disabled:cursor-not-allowed disabled:bg-sunken disabled:text-muted',
)

export function Input({ className, ...rest }: ComponentProps<'input'>) {
  return <input {...rest} className={classes(CONTROL, 'h-9 px-2.5', className)} />
}

export function Textarea({ className, ...rest }: ComponentProps<'textarea'>) {
  return <textarea rows={4} {...rest} className={classes(CONTROL, 'px-2.5 py-2', className)} />
}

export function FileInput({ className, ...rest }: ComponentProps<'input'>) {
  return (
    <input
      {...rest}
      type="file"
      className={classes(
        CONTROL,
        'h-9 py-1 pr-2.5 pl-1 text-sm text-muted',
        'file:mr-3 file:h-full file:rounded-sm file:border-0 file:bg-hover file:px-2.5 file:font-medium file:text-ink',
        className,
      )}
    />
  )
}

/** The six digits of an authenticator app, which people write with a space in the middle. */
export function CodeInput(props: ComponentProps<'input'>) {
  return (
    <Input
      {...props}
      inputMode="numeric"
      autoComplete="one-time-code"
      maxLength={7}
      className="font-mono tracking-widest"
    />
  )
}

/** A password that its owner may look at. */
export function PasswordInput(props: ComponentProps<'input'>) {
  const [isShown, setShown] = useState(false)
  return (
    <span className="relative block">
      <Input {...props} type={isShown ? 'text' : 'password'} className="pr-10" />
      <button
        type="button"
        aria-label={isShown ? 'Hide the password' : 'Show the password'}
        aria-pressed={isShown}
        onClick={() => setShown(!isShown)}
        className="absolute inset-y-1 right-1 flex w-7 items-center justify-center rounded-sm text-muted hover:text-ink [&_svg]:size-4"
      >
        {isShown ? <EyeOff aria-hidden /> : <Eye aria-hidden />}
      </button>
    </span>
  )
}
