import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useForm } from 'react-hook-form'
import { api, type Call } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { CopyField } from '../../components/copy-button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Time } from '../../components/figures.tsx'
import { CancelAndSubmit, Form, FormError, FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { toast } from '../../components/toast.tsx'
import { Checkbox } from '../../components/toggles.tsx'
import { useProject } from '../../session.ts'
import type { Endpoint } from './endpoint.ts'

export interface ShownSecret {
  secret: string
  /** When the replaced secret stops signing. Null: this secret replaces none. */
  oldEndsAt: string | null
}

type EventType = Call<'POST /api/projects/:project/webhooks'>['body']['eventTypes'][number]

const EVENTS: { type: EventType; label: string }[] = [
  { type: 'alert.opened', label: 'An alert opens' },
  { type: 'alert.closed', label: 'An alert closes' },
  { type: 'wallet.topped_up', label: 'The wallet is topped up' },
  { type: 'key.created', label: 'A key pair is created' },
  { type: 'key.revoked', label: 'A key pair is revoked' },
  { type: 'domain.verified', label: 'The domain is verified' },
  { type: 'domain.lapsed', label: 'The domain lapses' },
]

interface EndpointDialogProps {
  /** Left out: a new one. */
  endpoint?: Endpoint
  onClose(): void
  onCreated?(shown: ShownSecret): void
}

export function EndpointDialog({ endpoint, onClose, onCreated }: EndpointDialogProps) {
  const project = useProject()
  const client = useQueryClient()
  const form = useForm({ defaultValues: { url: endpoint?.url ?? '' } })
  const [chosen, setChosen] = useState<readonly string[]>(endpoint?.eventTypes ?? EVENTS.map(({ type }) => type))

  async function save({ url }: { url: string }): Promise<void> {
    const eventTypes = EVENTS.map(({ type }) => type).filter((type) => chosen.includes(type))
    const body = { url, eventTypes }
    const params = { project: project.id }
    if (endpoint) {
      const call = { params: { ...params, endpoint: endpoint.id }, body }
      await api('PATCH /api/projects/:project/webhooks/:endpoint', call)
      toast('Endpoint saved.')
    } else {
      // Not through the cache of mutations: it would keep the secret.
      const { secret } = await api('POST /api/projects/:project/webhooks', { params, body })
      onCreated?.({ secret, oldEndsAt: null })
    }
    await client.invalidateQueries({ queryKey: ['GET /api/projects/:project/webhooks'] })
    onClose()
  }
  function choose(type: string, isChosen: boolean): void {
    setChosen(isChosen ? [...chosen, type] : chosen.filter((each) => each !== type))
  }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={endpoint ? 'Edit the endpoint' : 'Add a webhook endpoint'}
      description={endpoint ? undefined : 'You see its signing secret once, right after this.'}
    >
      <Form form={form} onSubmit={save}>
        <FormField
          form={form}
          name="url"
          label="URL"
          hint="HTTPS at a public host name, on port 443 or 8443."
          rules={{ required: 'Enter a URL like https://example.com/webhooks.' }}
        >
          {(field) => <Input {...field} type="url" autoComplete="off" placeholder="https://example.com/webhooks" />}
        </FormField>
        <fieldset className="flex flex-col gap-2">
          <legend className="mb-1.5 text-sm font-medium">Events</legend>
          {EVENTS.map(({ type, label }) => (
            <Checkbox
              key={type}
              checked={chosen.includes(type)}
              onChange={(isChosen) => choose(type, isChosen)}
              label={label}
            />
          ))}
        </fieldset>
        <FormError form={form} />
        <div className="flex justify-end gap-2">
          <CancelAndSubmit onCancel={onClose} disabled={chosen.length === 0} isBusy={form.formState.isSubmitting}>
            {endpoint ? 'Save' : 'Add endpoint'}
          </CancelAndSubmit>
        </div>
      </Form>
    </Dialog>
  )
}

export function SecretDialog({ shown, onClose }: { shown: ShownSecret; onClose(): void }) {
  return (
    <Dialog
      isOpen
      isSticky
      onClose={onClose}
      title="The signing secret"
      description={
        <>
          Copy it now: it can never be shown again. Your server verifies requests with it.
          {shown.oldEndsAt !== null && (
            <>
              {' '}
              The old secret also signs until <Time iso={shown.oldEndsAt} />.
            </>
          )}
        </>
      }
      actions={
        <Button look="primary" onClick={onClose}>
          I stored it
        </Button>
      }
    >
      <CopyField text={shown.secret} label="signing secret" />
    </Dialog>
  )
}
