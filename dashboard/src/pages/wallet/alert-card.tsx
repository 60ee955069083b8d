import { useForm } from 'react-hook-form'
import type { Reply } from '../../api.ts'
import { Status } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Form, FormError, FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { formatMoney, parseMoney, plainMoney } from '../../formats.ts'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { isLow } from './amounts.ts'

type Wallet = Reply<'GET /api/projects/:project/wallet'>

const SUGGESTED = '10'

export function AlertCard({ wallet }: { wallet: Wallet | undefined }) {
  const project = useProject()
  const change = useChange('PUT /api/projects/:project/wallet-alert', [
    'GET /api/projects/:project/wallet',
    'GET /api/me',
  ])
  const alert = wallet?.alertNanos ?? null
  const form = useForm({ defaultValues: { thresholdNanos: alert === null ? SUGGESTED : plainMoney(alert) } })
  const mayChange = project.may('admin')
  const params = { project: project.id }

  async function save({ thresholdNanos: text }: { thresholdNanos: string }): Promise<void> {
    const thresholdNanos = parseMoney(text) ?? ''
    await change.mutateAsync({ params, body: { thresholdNanos } })
    toast(`Owners get an email when less than ${formatMoney(thresholdNanos)} is left.`)
  }
  function turnOff(): void {
    const saved = { onSuccess: () => toast('Low-balance emails are off.'), onError: toastError }
    change.mutate({ params, body: { thresholdNanos: null } }, saved)
  }

  const footer = (
    <>
      <p className="min-h-5 text-sm text-muted">
        {mayChange ? 'Emails go to all owners.' : 'Only admins can change this.'}
      </p>
      <div className="flex gap-2">
        {alert !== null && (
          <Button look="ghost" disabled={!mayChange} onClick={turnOff}>
            Turn off
          </Button>
        )}
        <Button
          type="submit"
          form="wallet-alert"
          disabled={!mayChange || !wallet || (alert !== null && !form.formState.isDirty)}
          isBusy={form.formState.isSubmitting}
        >
          {alert === null ? 'Turn on' : 'Save'}
        </Button>
      </div>
    </>
  )
  return (
    <Card
      title="Low-balance email"
      description="One email each time the balance falls below this amount."
      action={<AlertState wallet={wallet} />}
      footer={footer}
      className="flex flex-col [&>div]:flex-1"
    >
      <Form form={form} onSubmit={save} id="wallet-alert">
        <FormField
          form={form}
          name="thresholdNanos"
          label="Amount in US dollars"
          rules={{ validate: (text) => (parseMoney(text) ?? '0') !== '0' || 'Enter an amount like 10 or 2.50.' }}
        >
          {(field) => <Input {...field} inputMode="decimal" disabled={!mayChange} className="max-w-40 font-mono" />}
        </FormField>
        <FormError form={form} />
      </Form>
    </Card>
  )
}

function AlertState({ wallet }: { wallet: Wallet | undefined }) {
  if (!wallet) return <Skeleton className="h-5 w-16" />
  if (wallet.alertNanos === null) return <Status tone="neutral">Off</Status>
  return isLow(wallet) ? <Status tone="warn">Below it now</Status> : <Status tone="good">On</Status>
}
