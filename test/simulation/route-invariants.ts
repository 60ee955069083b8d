import type { AttemptRecord, CallRecord } from './call-record.ts'
import type { Report } from './wallet-invariants.ts'

/** The attempts that a call may make, judged by what its providers saw. */

const TRIES_PER_PROVIDER_MAX = 3

/** When a call goes to a provider: failing over must neither repeat an answer nor multiply the load. */
export function checkRoute({ id, attempts, plan }: CallRecord, report: Report): void {
  const [current, previous, ...earlier] = attempts.toReversed()
  if (!current || !previous) return
  if (previous.given.length > 0) report(`${id}: goes on to ${current.provider} after an answer had begun`)
  if (current.provider !== previous.provider) {
    if (earlier.some(({ provider }) => provider === current.provider)) report(`${id}: is back at ${current.provider}`)
    return
  }
  const tries = attempts.filter(({ provider }) => provider === current.provider)
  if (tries.length > TRIES_PER_PROVIDER_MAX) report(`${id}: is ${tries.length} times at ${current.provider}`)
  if (previous.end === 'rate_limited' || previous.end === 'key_rejected') {
    const refused = tries.slice(0, -1).filter(({ end }) => end === 'rate_limited' || end === 'key_rejected')
    if (refused.some(({ apiKey }) => apiKey === current.apiKey)) report(`${id}: comes back with a key that was refused`)
    return
  }
  const repeats = tries.filter(isRepeatable).length
  if (!isRepeatable(previous) || plan.deployments > 1 || repeats > 1)
    report(`${id}: tries ${current.provider} again after ${previous.end}`)
}

/** Whether a second try at the only deployment may cure the failure. */
export function isRepeatable({ end, given }: AttemptRecord): boolean {
  return (end === 'refused' || end === 'reset' || end === 'server_error') && given.length === 0
}
