import type { Call, Item } from '../../api.ts'
import { DAY_MS } from '../../durations.ts'
import { parseMoney, plainMoney } from '../../formats.ts'

/** A campaign as people type it, and as the API takes it. */

export type Campaign = Item<'GET /api/advertisers/:advertiser/campaigns'>
export type Settings = Call<'PATCH /api/advertisers/:advertiser/campaigns/:campaign'>['body']

export interface Typed {
  name: string
  bidNanos: string
  dailyBudgetNanos: string
  totalBudgetNanos: string
  pacing: Campaign['pacing']
  startsAt: string
  endsAt: string
  hints: string
  negativeHints: string
}

export const PACING_OPTIONS: { value: Campaign['pacing']; label: string }[] = [
  { value: 'even', label: 'Even: the same in every hour' },
  { value: 'front_loaded', label: 'Front-loaded: three quarters by midday' },
  { value: 'asap', label: 'As soon as possible' },
]

export function typedOf(campaign: Campaign | undefined): Typed {
  if (!campaign) {
    const budgets = { bidNanos: '0.40', dailyBudgetNanos: '', totalBudgetNanos: '' }
    return { ...budgets, name: '', pacing: 'even', startsAt: '', endsAt: '', hints: '', negativeHints: '' }
  }
  const { name, bidNanos, dailyBudgetNanos, totalBudgetNanos, pacing, startsAt, endsAt } = campaign
  return {
    name,
    bidNanos: plainMoney(bidNanos),
    dailyBudgetNanos: dailyBudgetNanos === null ? '' : plainMoney(dailyBudgetNanos),
    totalBudgetNanos: totalBudgetNanos === null ? '' : plainMoney(totalBudgetNanos),
    pacing,
    startsAt: startsAt === null ? '' : startsAt.slice(0, 10),
    // It ends when its last day is over.
    endsAt: endsAt === null ? '' : new Date(Date.parse(endsAt) - 1).toISOString().slice(0, 10),
    hints: campaign.hints.join('\n'),
    negativeHints: campaign.negativeHints.join('\n'),
  }
}

/** Returns only the changed settings of an existing campaign: a time of day that was set by a command stays as it is. */
export function settingsOf(typed: Typed, before: Typed | undefined): Settings {
  const all = {
    bidNanos: parseMoney(typed.bidNanos) ?? '',
    dailyBudgetNanos: budgetOf(typed.dailyBudgetNanos),
    totalBudgetNanos: budgetOf(typed.totalBudgetNanos),
    pacing: typed.pacing,
    startsAt: typed.startsAt === '' ? null : `${typed.startsAt}T00:00:00.000Z`,
    endsAt: typed.endsAt === '' ? null : new Date(Date.parse(`${typed.endsAt}T00:00:00Z`) + DAY_MS).toISOString(),
    hints: linesOf(typed.hints),
    negativeHints: linesOf(typed.negativeHints),
  }
  if (!before) return all
  const changed = Object.entries(all).filter(([name]) => typed[name as keyof Typed] !== before[name as keyof Typed])
  return Object.fromEntries(changed)
}

function budgetOf(text: string): string | null {
  return text.trim() === '' ? null : (parseMoney(text) ?? '')
}

export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
