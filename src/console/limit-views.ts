import type { z } from 'zod'
import { budgetsIn, nextMinuteOf, ratesIn, renewalOf, type RateState } from '../rules/billing/limits.ts'
import type { CountedLimits, LimitValues } from '../store/billing/limits.ts'
import type { newLimits } from './contract/limits.ts'

/** Limits as the contract names them, and as the store does. */

export function viewOfLimited({ own, state }: CountedLimits, now: Date) {
  return {
    values: viewOfValues(own),
    rates: viewOfRates(state, now),
    budgets: budgetsIn(state).map(({ period, limit, spent, held, left }) => ({
      period,
      limitNanos: limit,
      spentNanos: spent,
      heldNanos: held,
      leftNanos: left,
      renewsAt: renewalOf(period, now) ?? null,
    })),
  }
}

export function viewOfRates(state: RateState, now: Date) {
  return ratesIn(state).map(({ name, limit, used, left }) => {
    return { name, limit, used, left, renewsAt: name === 'calls' ? null : nextMinuteOf(now) }
  })
}

export function viewOfValues(values: LimitValues) {
  return {
    requestsPerMinute: values.requests_per_minute,
    tokensPerMinute: values.tokens_per_minute,
    concurrentCalls: values.concurrent_calls,
    dayNanos: values.day_nanos,
    weekNanos: values.week_nanos,
    monthNanos: values.month_nanos,
    totalNanos: values.total_nanos,
  }
}

export function valuesOf(body: z.output<typeof newLimits>): LimitValues {
  return {
    requests_per_minute: body.requestsPerMinute,
    tokens_per_minute: body.tokensPerMinute,
    concurrent_calls: body.concurrentCalls,
    day_nanos: body.dayNanos,
    week_nanos: body.weekNanos,
    month_nanos: body.monthNanos,
    total_nanos: body.totalNanos,
  }
}
