import { Inbox } from 'lucide-react'
import { useState } from 'react'
import type { Item } from '../../api.ts'
import { Status } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Time } from '../../components/figures.tsx'
import { EmptyState } from '../../components/states.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { pagingOf, useApiList, useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import type { Endpoint } from './endpoint.ts'

type Delivery = Item<'GET /api/projects/:project/webhooks/:endpoint/deliveries'>

const EVERY_MS = 5_000

export function DeliveriesDialog({ endpoint, onClose }: { endpoint: Endpoint; onClose(): void }) {
  const project = useProject()
  const params = { project: project.id, endpoint: endpoint.id }
  const path = 'GET /api/projects/:project/webhooks/:endpoint/deliveries'
  const list = useApiList(path, { params, query: { limit: 20 } }, { everyMs: EVERY_MS })
  const [openId, setOpenId] = useState<string>()
  const open = list.items?.find(({ id }) => id === openId)
  return (
    <Dialog
      isOpen
      size="lg"
      onClose={onClose}
      title="Deliveries"
      description={<span className="break-all">{endpoint.url}</span>}
    >
      <div className="flex flex-col gap-4">
        {open && <CodeBlock title={`Body of ${open.type}`} code={formatted(open.body)} />}
        <DataTable
          label="Deliveries"
          columns={columnsOf({ mayReplay: endpoint.enabled, onShow: setOpenId })}
          rows={list.items}
          keyOf={({ id }) => id}
          skeletonRows={4}
          {...pagingOf(list)}
          note="Newest first, of the last 30 days."
          empty={
            <EmptyState icon={Inbox} title="No deliveries">
              Events for this endpoint are listed here. Send a test event to try it.
            </EmptyState>
          }
        />
      </div>
    </Dialog>
  )
}

function columnsOf(options: { mayReplay: boolean; onShow(id: string): void }): Column<Delivery>[] {
  return [
    { label: 'Event', isTitle: true, cell: (delivery) => <Event delivery={delivery} /> },
    { label: 'State', cell: (delivery) => <State delivery={delivery} /> },
    {
      label: 'Actions',
      isActions: true,
      width: 'w-36',
      cell: (delivery) => (
        <span className="flex flex-col items-end gap-1">
          <Button look="ghost" size="sm" onClick={() => options.onShow(delivery.id)}>
            Show body
          </Button>
          {options.mayReplay && delivery.state !== 'pending' && <ReplayButton delivery={delivery} />}
        </span>
      ),
    },
  ]
}

function Event({ delivery: { type, createdAt } }: { delivery: Delivery }) {
  return (
    <span className="block leading-tight">
      <span className="block font-mono text-sm">{type}</span>
      <span className="block text-xs font-normal text-muted">
        <Time iso={createdAt} />
      </span>
    </span>
  )
}

const STATES = {
  pending: { tone: 'waiting', word: 'Waiting' },
  delivered: { tone: 'good', word: 'Delivered' },
  failed: { tone: 'bad', word: 'Failed' },
} as const

function State({ delivery }: { delivery: Delivery }) {
  const { state, attempts, lastStatus, lastError, nextAttemptAt } = delivery
  const { tone, word } = STATES[state]
  return (
    <span className="block py-1 leading-tight">
      <Status tone={tone}>{word}</Status>
      <span className="block pt-1 text-xs text-muted">
        {attempts} {attempts === 1 ? 'attempt' : 'attempts'}
        {lastStatus !== null && `, status ${lastStatus}`}
      </span>
      {lastError !== null && <span className="block text-xs text-bad">{lastError}</span>}
      {nextAttemptAt !== null && attempts > 0 && (
        <span className="block text-xs text-muted">
          Next <Time iso={nextAttemptAt} />
        </span>
      )}
    </span>
  )
}

function ReplayButton({ delivery }: { delivery: Delivery }) {
  const project = useProject()
  const replay = useChange('POST /api/projects/:project/webhook-deliveries/:delivery/replay', [
    'GET /api/projects/:project/webhooks/:endpoint/deliveries',
  ])
  function send(): void {
    const said = { onSuccess: () => toast('The event is on its way again.'), onError: toastError }
    replay.mutate({ params: { project: project.id, delivery: delivery.id } }, said)
  }
  return (
    <Button look="ghost" size="sm" isBusy={replay.isPending} onClick={send}>
      Send again
    </Button>
  )
}

function formatted(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
