import { useState, type ReactNode } from 'react'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { Input } from './input.tsx'
import { Notice } from './notice.tsx'

export interface ConfirmDialogProps {
  isOpen: boolean
  onClose(): void
  /** A question in the words of the thing, such as "Delete the project Recipes?". */
  title: string
  /** Says what will happen, and what cannot be undone. */
  children: ReactNode
  /** The button's label, such as "Delete project". */
  verb: string
  look?: 'danger' | 'primary'
  /** Has to be typed before the button works; for what nobody can bring back. */
  typed?: string
  onConfirm(): Promise<unknown>
}

/** Closes itself when `onConfirm` has succeeded, and shows what it throws. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  // A new mount for every opening: what was typed last time confirms nothing now.
  return props.isOpen ? <OpenConfirmDialog {...props} /> : null
}

function OpenConfirmDialog({ onClose, title, children, verb, look = 'danger', typed, onConfirm }: ConfirmDialogProps) {
  const [text, setText] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<string>()
  const isConfirmed = typed === undefined || text.trim() === typed

  async function confirm(): Promise<void> {
    setBusy(true)
    setError(undefined)
    try {
      await onConfirm()
      onClose()
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem))
      setBusy(false)
    }
  }

  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button look={look} isBusy={isBusy} disabled={!isConfirmed} onClick={() => void confirm()}>
        {verb}
      </Button>
    </>
  )
  return (
    <Dialog isOpen onClose={onClose} title={title} description={children} actions={actions}>
      <div className="flex flex-col gap-4 empty:hidden">
        {typed !== undefined && (
          <Field label={`Type ${typed} to confirm`}>
            {(control) => (
              <Input {...control} value={text} autoComplete="off" onChange={(event) => setText(event.target.value)} />
            )}
          </Field>
        )}
        {error && <Notice tone="bad">{error}</Notice>}
      </div>
    </Dialog>
  )
}
