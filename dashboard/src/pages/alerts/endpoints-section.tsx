import { CircleOff, CirclePlay, Ellipsis, List, Pencil, RefreshCcw, Send, Trash2, Webhook } from 'lucide-react'
import { useState } from 'react'
import { useQueryClient } from '@tanstack/react-query'
import { api } from '../../api.ts'
import { Status } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Time } from '../../components/figures.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { Menu, MenuDivider, MenuItem } from '../../components/menu.tsx'
import { EmptyState } from '../../components/states.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { useApi, useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { DeliveriesDialog } from './deliveries-dialog.tsx'
import type { Endpoint } from './endpoint.ts'
import { EndpointDialog, SecretDialog, type ShownSecret } from './endpoint-dialogs.tsx'

type Asked = 'edit' | 'roll' | 'delete' | 'deliveries'

export function EndpointsSection() {
  const project = useProject()
  const list = useApi('GET /api/projects/:project/webhooks', { params: { project: project.id } })
  const [isAdding, setAdding] = useState(false)
  const [asked, setAsked] = useState<{ what: Asked; endpoint: Endpoint }>()
  const [secret, setSecret] = useState<ShownSecret>()
  const isFull = list.data !== undefined && list.data.items.length >= list.data.most
  const close = () => setAsked(undefined)
  const add = (
    <Button disabled={!list.data || isFull} onClick={() => setAdding(true)}>
      Add endpoint
    </Button>
  )
  return (
    <section>
      <div className="mb-3 flex items-center justify-between gap-3">
        <h2 className="text-base font-semibold">Webhook endpoints</h2>
        {add}
      </div>
      <DataTable
        label="Webhook endpoints"
        columns={columnsOf((what, endpoint) => setAsked({ what, endpoint }))}
        rows={list.data?.items}
        keyOf={({ id }) => id}
        error={list.error}
        onRetry={() => void list.refetch()}
        skeletonRows={2}
        note={`At most ${list.data?.most ?? 5} in a project. Requests are signed: the guide shows how to verify them.`}
        empty={
          <EmptyState icon={Webhook} title="No webhook endpoints">
            Parley can tell your own servers about alerts, top-ups, key pairs and domains, with signed requests.
          </EmptyState>
        }
      />
      {isAdding && <EndpointDialog onClose={() => setAdding(false)} onCreated={setSecret} />}
      {asked?.what === 'edit' && <EndpointDialog endpoint={asked.endpoint} onClose={close} />}
      {asked?.what === 'roll' && <RollDialog endpoint={asked.endpoint} onClose={close} onRolled={setSecret} />}
      {asked?.what === 'delete' && <DeleteDialog endpoint={asked.endpoint} onClose={close} />}
      {asked?.what === 'deliveries' && <DeliveriesDialog endpoint={asked.endpoint} onClose={close} />}
      {secret && <SecretDialog shown={secret} onClose={() => setSecret(undefined)} />}
    </section>
  )
}

function columnsOf(onAsk: (what: Asked, endpoint: Endpoint) => void): Column<Endpoint>[] {
  return [
    { label: 'URL', isTitle: true, cell: ({ url }) => <span className="font-mono text-sm break-all">{url}</span> },
    { label: 'Events', width: 'w-28', cell: ({ eventTypes }) => <Events types={eventTypes} /> },
    { label: 'State', width: 'w-40', cell: (endpoint) => <State endpoint={endpoint} /> },
    {
      label: 'Actions',
      isActions: 'menu',
      width: 'w-14',
      cell: (endpoint) => <Actions endpoint={endpoint} onAsk={(what) => onAsk(what, endpoint)} />,
    },
  ]
}

function Events({ types }: { types: readonly string[] }) {
  return <span title={types.join(', ')}>{types.length === 1 ? types[0] : `${types.length} types`}</span>
}

function State({ endpoint: { enabled, offBecause, failingSince, oldSecretEndsAt } }: { endpoint: Endpoint }) {
  if (!enabled) return <Status tone="neutral">{offBecause === 'failing' ? 'Off: was failing' : 'Off'}</Status>
  return (
    <span className="block leading-tight">
      {failingSince === null ? <Status tone="good">On</Status> : <Status tone="bad">Failing</Status>}
      {failingSince !== null && (
        <span className="block text-xs text-muted">
          since <Time iso={failingSince} />
        </span>
      )}
      {oldSecretEndsAt !== null && (
        <span className="block text-xs text-muted">
          Old secret until <Time iso={oldSecretEndsAt} />
        </span>
      )}
    </span>
  )
}

function Actions({ endpoint, onAsk }: { endpoint: Endpoint; onAsk(what: Asked): void }) {
  const project = useProject()
  const params = { project: project.id, endpoint: endpoint.id }
  const change = useChange('PATCH /api/projects/:project/webhooks/:endpoint', ['GET /api/projects/:project/webhooks'])
  const test = useChange('POST /api/projects/:project/webhooks/:endpoint/test', [
    'GET /api/projects/:project/webhooks/:endpoint/deliveries',
  ])
  function turn(enabled: boolean): void {
    const said = { onSuccess: () => toast(`Endpoint switched ${enabled ? 'on' : 'off'}.`), onError: toastError }
    change.mutate({ params, body: { enabled } }, said)
  }
  function sendTest(): void {
    const onSuccess = () => {
      toast('Test event on its way.')
      onAsk('deliveries')
    }
    test.mutate({ params }, { onSuccess, onError: toastError })
  }
  return (
    <Menu trigger={<IconButton label={`Actions for ${endpoint.url}`} icon={<Ellipsis aria-hidden />} />}>
      <MenuItem icon={<List aria-hidden />} onSelect={() => onAsk('deliveries')}>
        Deliveries…
      </MenuItem>
      {endpoint.enabled && (
        <MenuItem icon={<Send aria-hidden />} onSelect={sendTest}>
          Send test event
        </MenuItem>
      )}
      <MenuItem icon={<Pencil aria-hidden />} onSelect={() => onAsk('edit')}>
        Edit…
      </MenuItem>
      <MenuItem icon={<RefreshCcw aria-hidden />} onSelect={() => onAsk('roll')}>
        Roll secret…
      </MenuItem>
      <MenuItem
        icon={endpoint.enabled ? <CircleOff aria-hidden /> : <CirclePlay aria-hidden />}
        onSelect={() => turn(!endpoint.enabled)}
      >
        {endpoint.enabled ? 'Switch off' : 'Switch on'}
      </MenuItem>
      <MenuDivider />
      <MenuItem tone="bad" icon={<Trash2 aria-hidden />} onSelect={() => onAsk('delete')}>
        Delete…
      </MenuItem>
    </Menu>
  )
}

interface AboutEndpoint {
  endpoint: Endpoint
  onClose(): void
}

function RollDialog({ endpoint, onClose, onRolled }: AboutEndpoint & { onRolled(shown: ShownSecret): void }) {
  const project = useProject()
  const client = useQueryClient()
  // Not through the cache of mutations: it would keep the secret.
  async function roll(): Promise<void> {
    const params = { project: project.id, endpoint: endpoint.id }
    const { secret, oldEndsAt } = await api('POST /api/projects/:project/webhooks/:endpoint/secret', { params })
    onRolled({ secret, oldEndsAt })
    await client.invalidateQueries({ queryKey: ['GET /api/projects/:project/webhooks'] })
  }
  return (
    <ConfirmDialog isOpen onClose={onClose} title="Roll the secret?" verb="Roll secret" look="primary" onConfirm={roll}>
      You see the new secret only once. Requests are signed with both for 24 hours, then only with the new one.
    </ConfirmDialog>
  )
}

function DeleteDialog({ endpoint, onClose }: AboutEndpoint) {
  const project = useProject()
  const remove = useChange('DELETE /api/projects/:project/webhooks/:endpoint', ['GET /api/projects/:project/webhooks'])
  async function confirm(): Promise<void> {
    await remove.mutateAsync({ params: { project: project.id, endpoint: endpoint.id } })
    toast('Endpoint deleted.')
  }
  return (
    <ConfirmDialog isOpen onClose={onClose} title="Delete the endpoint?" verb="Delete endpoint" onConfirm={confirm}>
      <span className="break-all">{endpoint.url}</span> receives nothing more. Its pending deliveries and their history
      are deleted.
    </ConfirmDialog>
  )
}
