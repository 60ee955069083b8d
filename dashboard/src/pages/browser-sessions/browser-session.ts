import type { Item } from '../../api.ts'

export type BrowserSession = Item<'GET /api/projects/:project/browser-sessions'>

/** As people call it: by whom it is for, or by the end of its secret. */
export function nameOf({ endUser, secretHint }: Pick<BrowserSession, 'endUser' | 'secretHint'>): string {
  if (endUser === null) return secretHint
  return endUser.label ?? `${endUser.id.slice(0, 8)}…`
}

/** `a and 2 more`: the first tells most, and all of them are shown on hover. */
export function firstOf(list: readonly string[]): string {
  const [first = '', ...rest] = list
  return rest.length === 0 ? first : `${first} and ${rest.length} more`
}

/** The share of its money that is spent or held, from 0 to 1. */
export function shareSpentOf(session: Pick<BrowserSession, 'moneyNanos' | 'spentNanos' | 'heldNanos'>): number {
  const [money, used] = [BigInt(session.moneyNanos), BigInt(session.spentNanos) + BigInt(session.heldNanos)]
  return money === 0n ? 1 : Math.min(Number((used * 1_000n) / money) / 1_000, 1)
}

/** Run on the publisher's server, with the keys in its environment as in the other examples. */
export function curlForSession(gatewayUrl: string): string {
  return [
    `curl -sS ${gatewayUrl}/v1/sessions`,
    `-H "x-publishable-key: $PARLEY_PUBLISHABLE_KEY"`,
    `-H "x-secret-key: $PARLEY_SECRET_KEY"`,
    `-H 'content-type: application/json'`,
    `-d '{"end_user": "customer-17", "calls": 20, "money": "250000000"}'`,
  ].join(' \\\n  ')
}
