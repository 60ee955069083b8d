import type { Call } from '../../api.ts'
import { parseMoney, plainMoney } from '../../formats.ts'
import type { LimitValues } from './limit-lines.ts'

/** The texts in the fields of the dialog. Empty: no limit. */
export type LimitTexts = Record<keyof LimitValues, string>
export type NewLimits = Call<'PUT /api/projects/:project/limits'>['body']

export const RATE_FIELDS = ['requestsPerMinute', 'tokensPerMinute', 'concurrentCalls'] as const
export const BUDGET_FIELDS = ['dayNanos', 'weekNanos', 'monthNanos', 'totalNanos'] as const

export function textsOf(values: LimitValues): LimitTexts {
  const money = (nanos: string | null) => (nanos === null ? '' : plainMoney(nanos))
  return {
    requestsPerMinute: String(values.requestsPerMinute ?? ''),
    tokensPerMinute: values.tokensPerMinute ?? '',
    concurrentCalls: String(values.concurrentCalls ?? ''),
    dayNanos: money(values.dayNanos),
    weekNanos: money(values.weekNanos),
    monthNanos: money(values.monthNanos),
    totalNanos: money(values.totalNanos),
  }
}

/** Text that is no number or no amount goes to the server as it is, and the server's sentence is then shown beside the field. */
export function limitsOf(texts: LimitTexts): NewLimits {
  const rate = (text: string) => (text.trim() === '' ? null : Number(plainNumber(text)))
  const money = (text: string) => (text.trim() === '' ? null : (parseMoney(text) ?? text))
  return {
    requestsPerMinute: rate(texts.requestsPerMinute),
    tokensPerMinute: texts.tokensPerMinute.trim() === '' ? null : plainNumber(texts.tokensPerMinute),
    concurrentCalls: rate(texts.concurrentCalls),
    dayNanos: money(texts.dayNanos),
    weekNanos: money(texts.weekNanos),
    monthNanos: money(texts.monthNanos),
    totalNanos: money(texts.totalNanos),
  }
}

export function isRate(text: string): boolean {
  return text.trim() === '' || /^[1-9]\d*$/.test(plainNumber(text))
}

export function isBudget(text: string): boolean {
  return text.trim() === '' || parseMoney(text) !== undefined
}

/** Without what people put between the thousands. */
function plainNumber(text: string): string {
  return text.replaceAll(/[\s,]/g, '')
}
