import { Link2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { classes } from '../../components/classes.ts'

export interface AnchorProps {
  level: 2 | 3 | 4
  id: string
  /** The heading in plain words, for who cannot see it. */
  name: string
  children: ReactNode
}

const LOOKS = { 2: 'text-lg mt-2', 3: 'text-base mt-2', 4: 'text-base mt-1' }

/** A heading that can be linked to. */
export function Anchor({ level, id, name, children }: AnchorProps) {
  const Heading = `h${level}` as const
  return (
    <div className={classes('group flex scroll-mt-20 items-baseline gap-1.5', LOOKS[level])} id={id}>
      <Heading className="min-w-0 font-semibold tracking-tight [overflow-wrap:anywhere]">{children}</Heading>
      <a
        href={`#${id}`}
        aria-label={`Link to ${name}`}
        className="shrink-0 self-center rounded-sm p-0.5 text-faint opacity-0 transition-opacity group-hover:opacity-100 hover:text-ink focus-visible:opacity-100 [@media(hover:none)]:opacity-100 [&_svg]:size-3.5"
      >
        <Link2 aria-hidden />
      </a>
    </div>
  )
}
