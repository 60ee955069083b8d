import { ArrowUp, Square } from 'lucide-react'
import type { KeyboardEvent } from 'react'
import { Button } from '../../components/button.tsx'
import { Textarea } from '../../components/input.tsx'
import { formatMoney } from '../../formats.ts'
import { useProject } from '../../session.ts'
import { problemIn, type Settings } from './chat.ts'
import type { Comparison } from './use-comparison.ts'

export interface ComposerProps {
  settings: Settings
  chat: Comparison
  draft: string
  onChange(draft: string): void
  /** How many models are asked by one press. */
  calls: number
}

export function Composer({ settings, chat, draft, onChange, calls }: ComposerProps) {
  const project = useProject()
  const { isBusy, stop: onStop } = chat
  const maySend = settings.model !== '' && problemIn(settings) === undefined
  function onSend(): void {
    if (!maySend || isBusy || draft.trim() === '') return
    chat.send(draft.trim())
    onChange('')
  }
  function onKey(event: KeyboardEvent): void {
    // While an input method is composing a word, Enter chooses it.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    onSend()
  }
  return (
    <form
      className="border-t border-line p-3"
      onSubmit={(event) => {
        event.preventDefault()
        onSend()
      }}
    >
      <div className="flex items-end gap-2">
        <label htmlFor="playground-question" className="sr-only">
          Your message
        </label>
        <Textarea
          id="playground-question"
          rows={2}
          value={draft}
          placeholder="Ask something…"
          onChange={(event) => onChange(event.target.value)}
          onKeyDown={onKey}
          className="max-h-40 resize-none"
        />
        {isBusy ? (
          <Button className="w-22" icon={<Square aria-hidden />} onClick={onStop}>
            Stop
          </Button>
        ) : (
          <Button
            type="submit"
            look="primary"
            className="w-22"
            icon={<ArrowUp aria-hidden />}
            disabled={!maySend || draft.trim() === ''}
          >
            Send
          </Button>
        )}
      </div>
      <p className="mt-2 flex flex-wrap justify-between gap-x-4 text-xs text-muted">
        <span>
          {calls === 1 ? 'Uses your balance: ' : `${calls} calls, each paid from your balance: `}
          <span className="tabular">{formatMoney(project.balanceNanos)}</span>
        </span>
        <span className="max-sm:hidden">Enter sends · Shift + Enter for a new line · Esc stops</span>
      </p>
    </form>
  )
}
