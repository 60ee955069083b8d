import { changeOf } from '../../change.ts'
import type { Home } from './onboarding.ts'

/** By how much the figures of the last seven days differ from the same ones of the seven before. */
export function changesOf({ calls, previousCalls, firstTokenMs, previousFirstTokenMs }: Home['week']) {
  return {
    calls: changeOf(calls, previousCalls),
    p50: changeOf(firstTokenMs.p50, previousFirstTokenMs.p50),
    p95: changeOf(firstTokenMs.p95, previousFirstTokenMs.p95),
  }
}
