import { CircleAlert, CircleCheck, CircleDashed, Clock, Sparkles, TriangleAlert, type LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { classes } from './classes.ts'
import type { Tone } from './notice.tsx'

const TONES: Record<Tone, string> = {
  neutral: 'bg-hover text-muted',
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  earn: 'bg-earn-soft text-earn',
}

/** A word about something: a role, an environment. */
export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={classes(
        'inline-flex h-5 items-center align-middle gap-1 rounded-sm px-1.5 text-xs font-medium whitespace-nowrap',
        TONES[tone],
      )}
    >
      {children}
    </span>
  )
}

/** Beside the name of a project that is for trying things out. */
export function SandboxBadge() {
  return <Badge tone="warn">Sandbox</Badge>
}

const ICONS: Record<Tone | 'waiting', LucideIcon> = {
  neutral: CircleDashed,
  good: CircleCheck,
  warn: TriangleAlert,
  bad: CircleAlert,
  earn: Sparkles,
  waiting: Clock,
}

/** A state. Colour is never alone: the icon and the word say the same. */
export function Status({ tone, children }: { tone: Tone | 'waiting'; children: ReactNode }) {
  const Icon = ICONS[tone]
  return (
    <Badge tone={tone === 'waiting' ? 'warn' : tone}>
      <Icon className="size-3" aria-hidden />
      {children}
    </Badge>
  )
}
