/** How what a process has one of, such as places for calls or memory for bodies, is shared among those who use it. */
export interface ShareLimits {
  /** Given to whoever asks first. */
  all: number
  /** Beyond that, given to those who have less than an equal part of it, up to so much in all. */
  most: number
  /** The most that one project has, and one of its key pairs. */
  project: number
  keyPair: number
  /** … and one of the browser sessions of a pair. Undefined: no less than the pair. */
  session?: number
}

export interface Taken {
  all: number
  /** By all projects of the account together. */
  account: number
  project: number
  keyPair: number
  session?: number
  /** Accounts that have something, and the one that asks. */
  accounts: number
}

/** The holder whose share is used up. */
export type FullShare = 'session' | 'key_pair' | 'project' | 'account' | 'all'

/**
 * Undefined: it may have it. When everything is taken, an account that has less than an equal part of it still gets in, so that
 * one account with many projects, each within its share, cannot shut all others out.
 */
export function fullShareOf(asked: number, taken: Taken, limits: ShareLimits): FullShare | undefined {
  if ((taken.session ?? 0) + asked > (limits.session ?? Infinity)) return 'session'
  if (taken.keyPair + asked > limits.keyPair) return 'key_pair'
  if (taken.project + asked > limits.project) return 'project'
  if (taken.all + asked <= limits.all) return undefined
  if (taken.all + asked > limits.most) return 'all'
  return taken.account + asked <= Math.max(asked, limits.all / taken.accounts) ? undefined : 'account'
}

/** At least one of them, however small the percentage. */
export function shareOf(all: number, percent: number): number {
  return Math.max(1, Math.floor((all * percent) / 100))
}
