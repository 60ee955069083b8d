import type { ReactNode } from 'react'
import { useForm, useWatch, type UseFormReturn } from 'react-hook-form'
import { Dialog } from '../../components/dialog.tsx'
import { CancelAndSubmit, Form, FormError, FormField } from '../../components/form.tsx'
import { Input, Textarea } from '../../components/input.tsx'
import { Select } from '../../components/select.tsx'
import { toast } from '../../components/toast.tsx'
import { parseMoney } from '../../formats.ts'
import { useChange } from '../../queries.ts'
import { useAdvertiser } from '../../session.ts'
import { HintPreview } from './hint-preview.tsx'
import { PACING_OPTIONS, settingsOf, typedOf, type Campaign, type Typed } from './campaign-fields.ts'

const READ_AGAIN = ['GET /api/advertisers/:advertiser/campaigns' as const, 'GET /api/advertisers/:advertiser' as const]

/** For a new campaign, or for one that is there. */
export function CampaignDialog({ campaign, onClose }: { campaign: Campaign | undefined; onClose(): void }) {
  const { id: advertiser } = useAdvertiser()
  const create = useChange('POST /api/advertisers/:advertiser/campaigns', READ_AGAIN)
  const change = useChange('PATCH /api/advertisers/:advertiser/campaigns/:campaign', READ_AGAIN)
  const before = typedOf(campaign)
  const form = useForm<Typed>({ defaultValues: before })

  async function save(typed: Typed): Promise<void> {
    if (campaign) {
      const params = { advertiser, campaign: campaign.id }
      await change.mutateAsync({ params, body: settingsOf(typed, before) })
      toast(`${campaign.name} is saved.`)
    } else {
      const body = { ...settingsOf(typed, undefined), name: typed.name, bidNanos: parseMoney(typed.bidNanos) ?? '' }
      await create.mutateAsync({ params: { advertiser }, body })
      toast(`${typed.name} is created.`)
    }
    onClose()
  }

  const actions = (
    <CancelAndSubmit onCancel={onClose} form="campaign" isBusy={form.formState.isSubmitting}>
      {campaign ? 'Save' : 'Create campaign'}
    </CancelAndSubmit>
  )
  return (
    <Dialog
      isOpen
      size="lg"
      onClose={onClose}
      title={campaign ? `Edit ${campaign.name}` : 'New campaign'}
      description="What you pay per click, how much in total, and who the products are for."
      actions={actions}
    >
      <Form form={form} onSubmit={save} id="campaign">
        {!campaign && (
          <FormField form={form} name="name" label="Name" hint="For you." rules={{ required: 'Enter a name.' }}>
            {(field) => <Input {...field} placeholder="Headphones" autoComplete="off" />}
          </FormField>
        )}
        <Amounts form={form} />
        <FormField form={form} name="pacing" label="Pacing of the daily budget">
          {(field) => <Select {...field} options={PACING_OPTIONS} />}
        </FormField>
        <Pair>
          <FormField form={form} name="startsAt" label="First day (UTC)" hint="Empty: at once.">
            {(field) => <Input {...field} type="date" />}
          </FormField>
          <FormField form={form} name="endsAt" label="Last day (UTC)" hint="Empty: no end.">
            {(field) => <Input {...field} type="date" />}
          </FormField>
        </Pair>
        <Hints form={form} />
        <FormError form={form} />
      </Form>
    </Dialog>
  )
}

function Pair({ children }: { children: ReactNode }) {
  return <div className="grid gap-5 sm:grid-cols-2">{children}</div>
}

type CampaignForm = UseFormReturn<Typed>

function Amounts({ form }: { form: CampaignForm }) {
  const isAmount = (text: string) => (parseMoney(text) ?? '0') !== '0' || 'Enter an amount like 0.40 or 25.'
  const isBudget = (text: string) => text.trim() === '' || isAmount(text)
  return (
    <>
      <FormField
        form={form}
        name="bidNanos"
        label="Highest bid for a click, in US dollars"
        hint="A click costs what it took to win, which is often less."
        rules={{ validate: isAmount }}
      >
        {(field) => <Input {...field} inputMode="decimal" autoComplete="off" className="font-mono" />}
      </FormField>
      <Pair>
        <FormField
          form={form}
          name="dailyBudgetNanos"
          label="Daily budget"
          hint="Per UTC day. Empty: none."
          rules={{ validate: isBudget }}
        >
          {(field) => <Input {...field} inputMode="decimal" autoComplete="off" className="font-mono" />}
        </FormField>
        <FormField
          form={form}
          name="totalBudgetNanos"
          label="Total budget"
          hint="In total. Empty: none."
          rules={{ validate: isBudget }}
        >
          {(field) => <Input {...field} inputMode="decimal" autoComplete="off" className="font-mono" />}
        </FormField>
      </Pair>
    </>
  )
}

function Hints({ form }: { form: CampaignForm }) {
  const [hints, negativeHints] = useWatch({ control: form.control, name: ['hints', 'negativeHints'] })
  return (
    <>
      <FormField
        form={form}
        name="hints"
        label="Who it is for"
        hint="One situation per line, at most 20: “for people distracted by noise at home”."
      >
        {(field) => <Textarea {...field} rows={3} />}
      </FormField>
      <FormField
        form={form}
        name="negativeHints"
        label="What it must not appear next to"
        hint="One per line, at most 20."
      >
        {(field) => <Textarea {...field} rows={2} />}
      </FormField>
      <HintPreview hints={hints} negativeHints={negativeHints} />
    </>
  )
}
