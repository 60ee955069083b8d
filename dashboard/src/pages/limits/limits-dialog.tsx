import type { ReactNode } from 'react'
import { useForm, type UseFormReturn } from 'react-hook-form'
import { Dialog } from '../../components/dialog.tsx'
import { CancelAndSubmit, Form, FormError, FormField } from '../../components/form.tsx'
import { Input } from '../../components/input.tsx'
import { toast } from '../../components/toast.tsx'
import {
  BUDGET_FIELDS,
  isBudget,
  isRate,
  limitsOf,
  RATE_FIELDS,
  textsOf,
  type LimitTexts,
  type NewLimits,
} from './limit-fields.ts'
import { BUDGET_LABELS, RATE_LABELS, type LimitValues } from './limit-lines.ts'

const LABELS: Record<keyof LimitValues, string> = {
  requestsPerMinute: RATE_LABELS.requests,
  tokensPerMinute: RATE_LABELS.tokens,
  concurrentCalls: RATE_LABELS.calls,
  dayNanos: BUDGET_LABELS.day,
  weekNanos: BUDGET_LABELS.week,
  monthNanos: BUDGET_LABELS.month,
  totalNanos: BUDGET_LABELS.total,
}

export interface LimitsDialogProps {
  /** The owner of the limits, such as "the key pair Web server". */
  of: string
  values: LimitValues
  /** The limits that apply where a field is left empty; without one there, no limit applies. */
  otherwise?: LimitValues
  /** When what is set begins to count. */
  description: ReactNode
  save(limits: NewLimits): Promise<unknown>
  onClose(): void
}

export function LimitsDialog({ of, values, otherwise, description, save, onClose }: LimitsDialogProps) {
  const form = useForm<LimitTexts>({ defaultValues: textsOf(values) })
  const others = otherwise && textsOf(otherwise)
  const placeholderOf = (name: keyof LimitTexts) => others?.[name] || 'No limit'
  async function submit(texts: LimitTexts): Promise<void> {
    await save(limitsOf(texts))
    onClose()
    toast(`Limits of ${of} saved.`)
  }
  const actions = (
    <CancelAndSubmit onCancel={onClose} form="limits" isBusy={form.formState.isSubmitting}>
      Save limits
    </CancelAndSubmit>
  )
  return (
    <Dialog isOpen onClose={onClose} size="lg" title={`Limits of ${of}`} description={description} actions={actions}>
      <Form form={form} onSubmit={submit} id="limits">
        <Group
          title="Budgets in US dollars"
          hint="Hard: a call is refused before it could exceed the budget. 0 refuses every call."
        >
          {BUDGET_FIELDS.map((name) => (
            <LimitField key={name} form={form} name={name} placeholder={placeholderOf(name)} />
          ))}
        </Group>
        <Group title="Rates" hint="Calls above them are refused with status 429 and can be retried.">
          {RATE_FIELDS.map((name) => (
            <LimitField key={name} form={form} name={name} placeholder={placeholderOf(name)} />
          ))}
        </Group>
        <FormError form={form} />
      </Form>
    </Dialog>
  )
}

function Group({ title, hint, children }: { title: string; hint: string; children: ReactNode }) {
  return (
    <fieldset className="min-w-0">
      <legend className="text-base font-semibold">{title}</legend>
      <p className="mb-3 text-sm text-muted">{hint}</p>
      <div className="grid grid-cols-2 items-start gap-x-4 gap-y-3 sm:grid-cols-4">{children}</div>
    </fieldset>
  )
}

interface LimitFieldProps {
  form: UseFormReturn<LimitTexts>
  name: keyof LimitTexts
  placeholder: string
}

function LimitField({ form, name, placeholder }: LimitFieldProps) {
  const isMoney = name.endsWith('Nanos')
  const validate = isMoney
    ? (text: string) => isBudget(text) || 'Enter an amount like 25 or 12.50.'
    : (text: string) => isRate(text) || 'Enter a whole number, at least 1.'
  return (
    <FormField form={form} name={name} label={LABELS[name]} rules={{ validate }}>
      {(field) => (
        <Input
          {...field}
          inputMode={isMoney ? 'decimal' : 'numeric'}
          autoComplete="off"
          placeholder={placeholder}
          className="font-mono"
        />
      )}
    </FormField>
  )
}
