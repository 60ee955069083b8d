import { classes } from './classes.ts'

/** The first letters of a name; the same name always has the same shade. */
export function Avatar({ name, shape = 'round' }: { name: string; shape?: 'round' | 'square' }) {
  const shade = SHADES[Array.from(name).reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0) % SHADES.length]
  return (
    <span
      aria-hidden
      className={classes(
        'inline-flex size-7 shrink-0 items-center justify-center text-2xs font-semibold uppercase',
        shape === 'round' ? 'rounded-full' : 'rounded-md',
        shade,
      )}
    >
      {initialsOf(name)}
    </span>
  )
}

const SHADES = ['bg-accent-soft text-accent-text', 'bg-earn-soft text-earn', 'bg-hover text-ink']

function initialsOf(name: string): string {
  const words = name.trim().split(/[\s@.]+/)
  const letters = [words[0], words.length > 1 ? words[1] : undefined].map((word) => Array.from(word ?? '')[0] ?? '')
  return letters.join('')
}
