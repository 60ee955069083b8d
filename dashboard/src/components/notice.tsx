import { CircleAlert, CircleCheck, Info, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { classes } from './classes.ts'

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'earn'

const LOOKS = {
  neutral: { box: 'bg-sunken', icon: Info, ink: 'text-muted' },
  good: { box: 'bg-good-soft', icon: CircleCheck, ink: 'text-good' },
  warn: { box: 'bg-warn-soft', icon: TriangleAlert, ink: 'text-warn' },
  bad: { box: 'bg-bad-soft', icon: CircleAlert, ink: 'text-bad' },
  earn: { box: 'bg-earn-soft', icon: Info, ink: 'text-earn' },
}

export interface NoticeProps {
  tone?: Tone
  children: ReactNode
  action?: ReactNode
}

/** A sentence that stands in the page, with an optional action. Errors are announced at once. */
export function Notice({ tone = 'neutral', children, action }: NoticeProps) {
  const { box, icon: Icon, ink } = LOOKS[tone]
  return (
    <div
      role={tone === 'bad' ? 'alert' : undefined}
      className={classes('flex flex-wrap items-center gap-x-4 gap-y-2 rounded-md px-3 py-2.5', box)}
    >
      <div className="flex min-w-0 flex-1 basis-60 items-start gap-2.5">
        <Icon className={classes('mt-[3px] size-4 shrink-0', ink)} aria-hidden />
        <div className="min-w-0">{children}</div>
      </div>
      {action}
    </div>
  )
}
