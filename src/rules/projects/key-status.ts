/** How a key pair stands: in one word to the program and in a sentence to people. */

export type KeyStatus = 'active' | 'ending' | 'inactive' | 'expired'

export interface KeyStanding {
  active: boolean
  expires_at: Date | null
  replaced_by: string | null
}

export function keyStatusOf(
  { active, expires_at: expiresAt, replaced_by: replacedBy }: KeyStanding,
  nowMs: number,
): KeyStatus {
  if (expiresAt && expiresAt.getTime() <= nowMs) return 'expired'
  if (!active) return 'inactive'
  return replacedBy === null ? 'active' : 'ending'
}

export function explainKeyStatus(standing: KeyStanding, nowMs: number): string {
  switch (keyStatusOf(standing, nowMs)) {
    case 'active':
      return standing.expires_at ? 'Calls are served until the pair expires.' : 'Calls are served.'
    case 'ending':
      return 'Replaced by a new pair. Calls with this one are still served until it ends.'
    case 'inactive':
      return 'Switched off: calls are refused with 401 until somebody activates it again.'
    case 'expired':
      return standing.replaced_by === null
        ? 'Expired: calls are refused with 401.'
        : 'Replaced by a new pair, and over: calls are refused with 401.'
  }
}

/** What people see instead of a secret key: the beginning that all of the installation share, and the end. */
export function secretHintOf(publishableKey: string, last4: string): string {
  const cell = publishableKey.slice('ply_pk_'.length, 'ply_pk_'.length + 2)
  return `ply_sk_${cell}…${last4}`
}
