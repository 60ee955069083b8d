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
      return 'Switched off: calls are refused with 401 until someone activates it again.'
    case 'expired':
      return standing.replaced_by === null
        ? 'Expired: calls are refused with 401.'
        : 'Replaced by a new pair, and over: calls are refused with 401.'
  }
}

/** Why the sessions of a pair cannot be used. Null: they can. */
export function sessionObstacleOf(standing: Omit<KeyStanding, 'replaced_by'>, nowMs: number): string | null {
  const status = keyStatusOf({ ...standing, replaced_by: null }, nowMs)
  return status === 'active' ? null : `Refused: its key pair is ${status}.`
}

/** Returns the text shown instead of a secret key: the beginning that all keys of the installation share, and the end. */
export function secretHintOf(publishableKey: string, last4: string): string {
  return hintOf('ply_sk_', publishableKey, last4)
}

/** The same of a browser session. */
export function sessionHintOf(publishableKey: string, last4: string): string {
  return hintOf('ply_es_', publishableKey, last4)
}

function hintOf(prefix: string, publishableKey: string, last4: string): string {
  const cell = publishableKey.slice('ply_pk_'.length, 'ply_pk_'.length + 2)
  return `${prefix}${cell}…${last4}`
}
