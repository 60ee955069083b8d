import { useQueryClient } from '@tanstack/react-query'
import { Loader2 } from 'lucide-react'
import { useEffect } from 'react'
import { Button } from '../../components/button.tsx'
import { Notice } from '../../components/notice.tsx'
import { useFilters } from '../../filters.ts'
import { formatMoney } from '../../formats.ts'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'

const EVERY_MS = 1_500

/** Tells people who come back from the payment page when the credit is there: Stripe notifies the server some seconds later. */
export function PaymentNotice() {
  const [{ paid }, setFilters] = useFilters(['paid'] as const)
  if (!paid) return null
  return <Payment key={paid} checkout={paid} onDismiss={() => setFilters({ paid: '' })} />
}

function Payment({ checkout, onDismiss }: { checkout: string; onDismiss(): void }) {
  const project = useProject()
  const client = useQueryClient()
  const params = { project: project.id, checkout }
  const endpoint = 'GET /api/projects/:project/checkouts/:checkout'
  const known = client.getQueryData<{ state: string }>([endpoint, { params }])
  const isOpen = known === undefined || known.state === 'created'
  const { data, error } = useApi(endpoint, { params }, isOpen ? { everyMs: EVERY_MS } : {})
  const state = data?.state
  useEffect(() => {
    if (state !== 'paid') return
    for (const key of ['GET /api/projects/:project/wallet', 'GET /api/projects/:project/ledger', 'GET /api/me'])
      void client.invalidateQueries({ queryKey: [key] })
  }, [state, client])
  return error ? null : <PaymentState payment={data} onDismiss={onDismiss} />
}

/** Undefined: nothing is known yet. */
export function PaymentState({
  payment,
  onDismiss,
}: {
  payment: { state: string; amountNanos: string } | undefined
  onDismiss(): void
}) {
  const state = payment?.state
  const dismiss = (
    <Button size="sm" look="ghost" onClick={onDismiss}>
      Dismiss
    </Button>
  )
  return (
    <div role="status">
      {state === 'paid' && payment && (
        <Notice tone="good" action={dismiss}>
          <strong className="font-medium">{formatMoney(payment.amountNanos)} has arrived.</strong> Thank you. It is
          ready to use.
        </Notice>
      )}
      {(state === 'expired' || state === 'refunded') && (
        <Notice action={dismiss}>
          {state === 'expired' ? 'This payment was not completed. Nothing was charged.' : 'This payment was refunded.'}
        </Notice>
      )}
      {(state === undefined || state === 'created') && (
        <Notice>
          <span className="flex items-center gap-2">
            <Loader2 className="size-4 shrink-0 animate-spin text-muted" aria-hidden />
            Waiting for Stripe to confirm the payment. This takes a few seconds; you can leave this page.
          </span>
        </Notice>
      )}
    </div>
  )
}
