import { useForm, useWatch } from 'react-hook-form'
import type { Reply } from '../../api.ts'
import { Status } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Form, FormError, FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { Notice } from '../../components/notice.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { formatMoney, formatTime, parseMoney, plainMoney } from '../../formats.ts'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { isPayable } from './amounts.ts'
import { SavedCard } from './saved-card.tsx'

type AutoTopUp = Reply<'GET /api/projects/:project/auto-top-up'>
type Wallet = Reply<'GET /api/projects/:project/wallet'>

const SUGGESTED = { thresholdNanos: '10', amountNanos: '25', monthMaxNanos: '100' }
type Values = typeof SUGGESTED

export function AutoTopUpCard({ auto, topUp }: { auto: AutoTopUp; topUp: Wallet['topUp'] }) {
  const { card } = auto
  if (!card) {
    return (
      <Card title="Automatic top-up" description={WHAT_IT_DOES} action={<Status tone="neutral">Off</Status>}>
        <p className="text-muted">
          No card is saved. To save one, choose “Save this card for automatic top-ups” when you top up. Nothing is
          charged to it until an admin turns automatic top-ups on here.
        </p>
      </Card>
    )
  }
  return <WithCard auto={auto} card={card} topUp={topUp} />
}

const WHAT_IT_DOES = 'Charges your saved card when the balance falls below an amount you choose.'
const READ_AGAIN = ['GET /api/projects/:project/auto-top-up' as const]

function WithCard({
  auto,
  card,
  topUp,
}: {
  auto: AutoTopUp
  card: NonNullable<AutoTopUp['card']>
  topUp: Wallet['topUp']
}) {
  const project = useProject()
  const { settings } = auto
  const change = useChange('PUT /api/projects/:project/auto-top-up', READ_AGAIN)
  const stop = useChange('DELETE /api/projects/:project/auto-top-up', READ_AGAIN)
  const form = useForm<Values>({ defaultValues: settings ? typedOf(settings) : SUGGESTED })
  const typed = useWatch({ control: form.control })
  const mayChange = project.may('admin')
  const params = { project: project.id }

  async function save(values: Values): Promise<void> {
    await change.mutateAsync({ params, body: nanosOf(values) })
    toast(settings ? 'Automatic top-up saved.' : 'Automatic top-up is on.')
  }
  function turnOff(): void {
    stop.mutate({ params }, { onSuccess: () => toast('Automatic top-up is off.'), onError: toastError })
  }

  const verb = settings === null ? 'Start automatic top-ups' : settings.pausedAt === null ? 'Save changes' : 'Resume'
  const footer = (
    <>
      <p className="min-h-5 text-sm text-muted">
        {mayChange ? 'Declines are emailed to owners and admins.' : 'Only admins can change this.'}
      </p>
      <div className="flex flex-wrap gap-2">
        {settings && (
          <Button look="ghost" disabled={!mayChange} onClick={turnOff}>
            Stop automatic top-ups
          </Button>
        )}
        <Button
          type="submit"
          form="auto-top-up"
          disabled={!mayChange || (settings?.pausedAt === null && !form.formState.isDirty)}
          isBusy={form.formState.isSubmitting}
        >
          {verb}
        </Button>
      </div>
    </>
  )
  return (
    <Card title="Automatic top-up" description={WHAT_IT_DOES} action={<State settings={settings} />} footer={footer}>
      <div className="flex flex-col gap-4">
        <SavedCard card={card} />
        <Standing settings={settings} />
        <Form form={form} onSubmit={save} id="auto-top-up">
          <Amounts form={form} topUp={topUp} isLocked={!mayChange} />
          <p className="text-sm text-muted">{sentenceOf(typed, auto)}</p>
          <FormError form={form} />
        </Form>
      </div>
    </Card>
  )
}

interface AmountsProps {
  form: DollarsProps['form']
  topUp: Wallet['topUp']
  isLocked: boolean
}

function Amounts({ form, topUp, isLocked }: AmountsProps) {
  const fits = (nanos: string) => BigInt(nanos) >= BigInt(parseMoney(form.getValues('amountNanos')) ?? '0')
  return (
    <div className="grid gap-4 sm:grid-cols-3">
      <Dollars form={form} name="thresholdNanos" label="When the balance falls below" isLocked={isLocked} />
      <Dollars
        form={form}
        name="amountNanos"
        label="Charge"
        isLocked={isLocked}
        problemOf={(nanos) => (isPayable(nanos, topUp) ? undefined : rangeOf(topUp))}
      />
      <Dollars
        form={form}
        name="monthMaxNanos"
        label="At most in a month"
        isLocked={isLocked}
        problemOf={(nanos) => (fits(nanos) ? undefined : 'Must leave room for at least one top-up.')}
      />
    </div>
  )
}

interface DollarsProps {
  form: ReturnType<typeof useForm<Values>>
  name: keyof Values
  label: string
  isLocked: boolean
  problemOf?(nanos: string): string | undefined
}

function Dollars({ form, name, label, isLocked, problemOf }: DollarsProps) {
  const validate = (text: string) => {
    const nanos = parseMoney(text) ?? '0'
    return nanos === '0' ? 'Enter an amount like 10 or 2.50.' : (problemOf?.(nanos) ?? true)
  }
  return (
    <FormField form={form} name={name} label={`${label}, in US dollars`} rules={{ validate }}>
      {(field) => <Input {...field} inputMode="decimal" autoComplete="off" disabled={isLocked} className="font-mono" />}
    </FormField>
  )
}

function State({ settings }: { settings: AutoTopUp['settings'] }) {
  if (!settings) return <Status tone="neutral">Off</Status>
  if (settings.pausedAt !== null) return <Status tone="bad">Paused</Status>
  return settings.nextTryAt === null ? <Status tone="good">On</Status> : <Status tone="waiting">Declined</Status>
}

function Standing({ settings }: { settings: AutoTopUp['settings'] }) {
  if (!settings) return null
  if (settings.pausedAt !== null) {
    return (
      <Notice tone="warn">
        The card was declined three times in a row. Nothing is charged to it until you resume automatic top-ups.
      </Notice>
    )
  }
  if (settings.nextTryAt === null) return null
  return <Notice tone="warn">The card was declined. Parley tries again after {formatTime(settings.nextTryAt)}.</Notice>
}

/** Says what will be charged and when, by the values typed now, and what is left this month by the saved ones. */
function sentenceOf(typed: Partial<Values>, { hasTax, settings, leftThisMonthNanos }: AutoTopUp): string {
  const [below, amount, most] = [typed.thresholdNanos, typed.amountNanos, typed.monthMaxNanos].map((text) =>
    parseMoney(text ?? ''),
  )
  if (below === undefined || amount === undefined || most === undefined) return 'Enter amounts like 10 or 2.50.'
  const charged = `${formatMoney(amount)}${hasTax ? ' and tax' : ''}`
  const rule = `Whenever the balance falls below ${formatMoney(below)}, ${charged} is charged to this card, at most ${formatMoney(most)} in a calendar month (UTC)${hasTax ? ', without tax' : ''}.`
  if (!settings || leftThisMonthNanos === null) return rule
  return `${rule} ${formatMoney(leftThisMonthNanos)} is left this month.`
}

function rangeOf({ minNanos, maxNanos }: Wallet['topUp']): string {
  return `From ${formatMoney(minNanos)} to ${formatMoney(maxNanos)}, in whole cents.`
}

function typedOf(settings: Values): Values {
  const { thresholdNanos, amountNanos, monthMaxNanos } = settings
  return {
    thresholdNanos: plainMoney(thresholdNanos),
    amountNanos: plainMoney(amountNanos),
    monthMaxNanos: plainMoney(monthMaxNanos),
  }
}

function nanosOf({ thresholdNanos, amountNanos, monthMaxNanos }: Values): Values {
  return {
    thresholdNanos: parseMoney(thresholdNanos) ?? '',
    amountNanos: parseMoney(amountNanos) ?? '',
    monthMaxNanos: parseMoney(monthMaxNanos) ?? '',
  }
}
