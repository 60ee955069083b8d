import { Columns2, RotateCw, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button, type ButtonProps } from '../../components/button.tsx'
import type { Comparison } from './use-comparison.ts'

export interface ToolbarProps {
  chat: Comparison
  isComparing: boolean
  /** There is no other model to compare with. */
  isAlone: boolean
  onCompare(isComparing: boolean): void
  /** The button of the saved prompts. */
  prompts: ReactNode
}

export function Toolbar({ chat, isComparing, isAlone, onCompare, prompts }: ToolbarProps) {
  const isEmpty = chat.rows.length === 0
  return (
    <div className="flex items-center gap-1 border-b border-line py-1.5 pr-2 pl-4">
      <h2 className="text-sm font-medium text-muted">Chat</h2>
      <span className="min-w-0 flex-1 truncate pl-3 text-sm text-accent-text">{chat.isBusy && <Working />}</span>
      {prompts}
      <Tool
        icon={<Columns2 aria-hidden />}
        label="Compare"
        aria-pressed={isComparing}
        disabled={chat.isBusy || (isAlone && !isComparing)}
        onClick={() => onCompare(!isComparing)}
        className={isComparing ? 'bg-accent-soft text-accent-text' : ''}
      />
      <Tool
        icon={<RotateCw aria-hidden />}
        label="Regenerate"
        disabled={isEmpty || chat.isBusy}
        onClick={chat.regenerate}
      />
      <Tool icon={<Trash2 aria-hidden />} label="Clear" disabled={isEmpty} onClick={chat.clear} />
    </div>
  )
}

/** On a phone its icon alone: four words would not fit. */
export function Tool({ label, icon, ...rest }: ButtonProps & { label: string; icon: ReactNode }) {
  return (
    <Button look="ghost" size="sm" icon={icon} title={label} {...rest}>
      <span className="max-md:sr-only">{label}</span>
    </Button>
  )
}

/** At a place that does not move, unlike the end of a text that grows. */
function Working() {
  return (
    <span className="inline-flex items-center gap-2">
      <span aria-hidden className="size-2 animate-pulse rounded-full bg-accent-text" />
      Answering…
    </span>
  )
}
