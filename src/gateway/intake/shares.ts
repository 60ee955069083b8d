import { fullShareOf, type FullShare, type ShareLimits } from '../../rules/calls/shares.ts'

/** The shares that accounts, projects, key pairs and sessions hold of a limited resource of this process. */
export interface Shares {
  /** Undefined: it has it, and gives it back. */
  take(who: Holder, amount: number): FullShare | undefined
  give(who: Holder, amount: number): void
  readonly taken: number
}

export interface Holder {
  readonly publisherId: string
  readonly projectId: string
  readonly keyPairId: string
  readonly session?: { readonly id: string } | undefined
}

export function createShares(limits: ShareLimits, onChange: (taken: number) => void = () => {}): Shares {
  const accounts = new Map<string, number>()
  const projects = new Map<string, number>()
  const keyPairs = new Map<string, number>()
  const sessions = new Map<string, number>()
  let all = 0

  function add({ publisherId, projectId, keyPairId, session }: Holder, amount: number): void {
    all += amount
    addTo(accounts, publisherId, amount)
    addTo(projects, projectId, amount)
    addTo(keyPairs, keyPairId, amount)
    if (session) addTo(sessions, session.id, amount)
    onChange(all)
  }

  return {
    take(who, amount) {
      const account = accounts.get(who.publisherId)
      const taken = {
        all,
        account: account ?? 0,
        project: projects.get(who.projectId) ?? 0,
        keyPair: keyPairs.get(who.keyPairId) ?? 0,
        session: (who.session && sessions.get(who.session.id)) ?? 0,
        accounts: accounts.size + (account === undefined ? 1 : 0),
      }
      const full = fullShareOf(amount, taken, limits)
      if (full === undefined) add(who, amount)
      return full
    },
    give: (who, amount) => add(who, -amount),
    get taken() {
      return all
    },
  }
}

/** Forgets a holder that has nothing left. */
function addTo(amounts: Map<string, number>, id: string, amount: number): void {
  const next = (amounts.get(id) ?? 0) + amount
  if (next === 0) amounts.delete(id)
  else amounts.set(id, next)
}
