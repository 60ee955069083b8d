import { CreditCard } from 'lucide-react'
import { useState } from 'react'
import type { Reply } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { toast } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { cardInWords, expiryOf } from './cards.ts'

type Card = NonNullable<Reply<'GET /api/projects/:project/auto-top-up'>['card']>

/** The card that automatic top-ups are charged to, and how to have it forgotten. */
export function SavedCard({ card }: { card: Card }) {
  const project = useProject()
  const [isOpen, setOpen] = useState(false)
  const remove = useChange('DELETE /api/projects/:project/card', ['GET /api/projects/:project/auto-top-up'])

  async function confirm(): Promise<void> {
    await remove.mutateAsync({ params: { project: project.id } })
    toast('Card removed.')
  }
  return (
    <div className="flex flex-wrap items-center justify-between gap-3">
      <p className="flex items-center gap-2.5">
        <CreditCard className="size-4 shrink-0 text-muted" aria-hidden />
        <span>
          <span className="font-medium">{cardInWords(card)}</span>{' '}
          <span className="text-sm text-muted">expires {expiryOf(card)}</span>
        </span>
      </p>
      {project.may('admin') && (
        <Button size="sm" look="ghost" onClick={() => setOpen(true)}>
          Remove card…
        </Button>
      )}
      <ConfirmDialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title={`Remove the card ${cardInWords(card)}?`}
        verb="Remove card"
        onConfirm={confirm}
      >
        Nothing is charged to it from now on, automatic top-ups are off, and Stripe forgets it within a minute. You can
        save a card again with any top-up.
      </ConfirmDialog>
    </div>
  )
}
