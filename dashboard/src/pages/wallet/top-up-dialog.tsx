import { useState } from 'react'
import { useForm, useWatch } from 'react-hook-form'
import type { Reply } from '../../api.ts'
import { classes } from '../../components/classes.ts'
import { Dialog } from '../../components/dialog.tsx'
import { CancelAndSubmit, Form, FormError, FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { Checkbox } from '../../components/toggles.tsx'
import { formatMoney, parseMoney } from '../../formats.ts'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { isPayable } from './amounts.ts'

const PRESETS = ['10', '25', '50', '100']

export interface TopUpDialogProps {
  topUp: Reply<'GET /api/projects/:project/wallet'>['topUp']
  onClose(): void
}

export function TopUpDialog(props: TopUpDialogProps) {
  const project = useProject()
  const change = useChange('POST /api/projects/:project/checkouts')
  const open = (amountNanos: string, saveCard: boolean) =>
    change.mutateAsync({ params: { project: project.id }, body: { amountNanos, ...(saveCard && { saveCard }) } })
  return <PaymentDialog {...props} name={project.name} open={open} canSaveCard />
}

interface PaymentDialogProps extends TopUpDialogProps {
  /** The owner of the wallet. */
  name: string
  open(amountNanos: string, saveCard: boolean): Promise<{ url: string }>
  canSaveCard?: boolean
}

/** Asks how much, and leads to the payment page. */
export function PaymentDialog({ topUp, onClose, name, open, canSaveCard = false }: PaymentDialogProps) {
  const form = useForm({ defaultValues: { amountNanos: '25' } })
  const text = useWatch({ control: form.control, name: 'amountNanos' })
  const [saveCard, setSaveCard] = useState(false)
  const nanos = parseMoney(text)
  const range = `From ${formatMoney(topUp.minNanos)} to ${formatMoney(topUp.maxNanos)}, in whole cents.`

  async function pay(): Promise<void> {
    const { url } = await open(nanos ?? '', saveCard)
    window.location.assign(url)
    // Until the payment page is there, the button stays busy.
    await new Promise(() => {})
  }

  const actions = (
    <CancelAndSubmit onCancel={onClose} form="top-up" className="min-w-44" isBusy={form.formState.isSubmitting}>
      {nanos === undefined ? 'Continue to payment' : `Pay ${formatMoney(nanos)}`}
    </CancelAndSubmit>
  )
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Top up ${name}`}
      description="You pay on Stripe and come back here, where the credit appears within seconds."
      actions={actions}
    >
      <Form form={form} onSubmit={pay} id="top-up">
        <div role="group" aria-label="Amounts" className="grid grid-cols-4 gap-2">
          {PRESETS.map((amount) => (
            <button
              key={amount}
              type="button"
              aria-pressed={text === amount}
              onClick={() => form.setValue('amountNanos', amount, { shouldValidate: true })}
              className={classes(
                'tabular h-12 rounded-md border font-medium transition-colors',
                text === amount
                  ? 'border-accent-text bg-accent-soft text-accent-text'
                  : 'border-line-strong bg-surface hover:bg-hover',
              )}
            >
              ${amount}
            </button>
          ))}
        </div>
        <FormField
          form={form}
          name="amountNanos"
          label="Amount in US dollars"
          hint={range}
          rules={{ validate: (typed) => isPayable(parseMoney(typed), topUp) || range }}
        >
          {(field) => <Input {...field} inputMode="decimal" autoComplete="off" className="font-mono" />}
        </FormField>
        {canSaveCard && <SaveCard checked={saveCard} onChange={setSaveCard} />}
        <FormError form={form} />
      </Form>
    </Dialog>
  )
}

function SaveCard(choice: { checked: boolean; onChange(checked: boolean): void }) {
  return (
    <Checkbox
      {...choice}
      label="Save this card for automatic top-ups"
      hint="Stripe keeps it. Nothing is charged to it until an admin turns automatic top-ups on."
    />
  )
}
