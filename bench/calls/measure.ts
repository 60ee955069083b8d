/** Measures one subject in one case: CPU time under load, then the time to the first byte of calls one at a time. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sample } from './bars.ts'
import type { Case } from './cases.ts'
import { runLoad } from './load.ts'
import { cpuMsOf, cpuMsWithChildren } from './processes.ts'
import { quantile } from './statistics.ts'
import type { Running } from './subject.ts'

export interface Extent {
  /** Instead of what the case says. */
  readonly calls?: number | undefined
  readonly seconds?: number | undefined
}

/** Work that is still done after the last byte of an answer belongs to the call. */
const SETTLE_MS = 500

/** A whole round. Node compiles in its first thousands of calls, and hardly in the weeks of serving after them. */
export async function warmUp(target: Running, work: Case, extent: Extent): Promise<void> {
  const calls = extent.calls ?? work.calls
  await runLoad(target, work, { calls, atOnce: work.atOnce, seconds: extent.seconds })
}

export async function measure(
  target: Running,
  work: Case,
  { calls = work.calls, seconds }: Extent,
): Promise<Omit<Sample, 'round' | 'case' | 'subject'>> {
  const before = usedBy(target)
  const most = seconds === undefined ? calls : Infinity
  const loaded = await runLoad(target, work, { calls: most, atOnce: work.atOnce, seconds })
  await sleep(SETTLE_MS)
  const after = usedBy(target)
  const alone = await runLoad(target, work, { calls: Math.min(work.alone, calls), atOnce: 1, seconds })
  const perCall = (now?: number, then?: number) =>
    now === undefined || then === undefined ? undefined : (now - then) / loaded.calls
  return {
    cpuMs: perCall(after.ownMs, before.ownMs),
    postgresMs: perCall(after.postgresMs, before.postgresMs),
    firstByteMs: quantile(alone.firstBytesMs, 0.5),
    firstByteP95Ms: quantile(alone.firstBytesMs, 0.95),
    repeats: loaded.repeats + alone.repeats,
  }
}

function usedBy({ pid, postgres }: Running) {
  return {
    ownMs: pid === undefined ? undefined : cpuMsOf(pid),
    postgresMs: postgres && cpuMsWithChildren(postgres.pid),
  }
}
