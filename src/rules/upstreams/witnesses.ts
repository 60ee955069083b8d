import { MINUTE_MS } from '../durations.ts'

/**
 * The publishers that have used a provider's key lately, and those that it was refused to: for too many calls (429, 503, 529)
 * or for want of credit (402). One publisher can bring either upon itself, by a request that is larger than the provider's
 * limit or dearer than what is left on the account, and must not take the key from the others.
 */
export interface Witnesses {
  /** The last to use it, and the last before that who is somebody else. */
  readonly users: readonly Seen[]
  /** Since somebody was answered. */
  readonly refused: Partial<Record<KeyTrouble, Seen>>
}

export type KeyTrouble = 'overload' | 'unpaid'

interface Seen {
  publisherId: string
  atMs: number
}

export const NO_WITNESSES: Witnesses = { users: [], refused: {} }

const WINDOW_MS = MINUTE_MS

export function withUse({ users, refused }: Witnesses, publisherId: string, nowMs: number): Witnesses {
  const other = users.find((user) => user.publisherId !== publisherId)
  return { users: [{ publisherId, atMs: nowMs }, ...(other ? [other] : [])], refused }
}

export function withAnswer({ users }: Witnesses): Witnesses {
  return { users, refused: {} }
}

export function withRefusal(before: Witnesses, trouble: KeyTrouble, publisherId: string, nowMs: number): Witnesses {
  return { ...before, refused: { ...before.refused, [trouble]: { publisherId, atMs: nowMs } } }
}

/** Whether it is everybody's when it is refused to this one: to another one, too, or there is nobody else who could tell. */
export function isEverybodys(
  { users, refused }: Witnesses,
  trouble: KeyTrouble,
  publisherId: string,
  nowMs: number,
): boolean {
  const isOther = (seen: Seen | undefined) =>
    seen !== undefined && seen.publisherId !== publisherId && nowMs - seen.atMs <= WINDOW_MS
  return isOther(refused[trouble]) || !users.some(isOther)
}
