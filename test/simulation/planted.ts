import type { HoldRequest } from '../../src/store/billing/ledger/ledger-items.ts'
import { least, postedFor, STATEMENT, type Statement } from './memory-ledger.ts'
import { chargeOf, UNLIMITED, type Return, type Tables } from './memory-tables.ts'

/**
 * Statements with one bug each, of the kinds that a ledger really has. They prove that the simulation can fail: a seed in
 * which nothing is found says nothing unless these are.
 */
export const PLANTED: Record<string, Statement> = {
  'hold: grants what other calls have already set aside': {
    ...STATEMENT,
    hold: (tables, gatewayId, requests, nowMs) =>
      requests.flatMap((request) =>
        withHeld(tables, request, 0n, () => STATEMENT.hold(tables, gatewayId, [request], nowMs)),
      ),
  },
  'hold: does not see the earlier grants of its batch': {
    ...STATEMENT,
    hold(tables, gatewayId, requests, nowMs) {
      const before = new Map([...tables.wallets.values()].map(({ projectId, held }) => [projectId, held]))
      return requests.flatMap((request) =>
        withHeld(tables, request, before.get(request.projectId) ?? 0n, () =>
          STATEMENT.hold(tables, gatewayId, [request], nowMs),
        ),
      )
    },
  },
  'hold: grants less than the minimum': {
    ...STATEMENT,
    hold: (tables, gatewayId, requests, nowMs) =>
      STATEMENT.hold(
        tables,
        gatewayId,
        requests.map((request) => ({ ...request, min: 0n })),
        nowMs,
      ),
  },
  'hold: is not counted against its budgets': {
    ...STATEMENT,
    hold(tables, gatewayId, requests, nowMs) {
      const counts = tables.counts.map(({ held, openHolds }) => ({ held, openHolds }))
      const answers = STATEMENT.hold(tables, gatewayId, requests, nowMs)
      for (const [n, before] of counts.entries()) Object.assign(tables.counts[n]!, before)
      return answers
    },
  },
  'extend: grows beyond a budget': {
    ...STATEMENT,
    extend: (tables, requests, nowMs) => withoutLimits(tables, () => STATEMENT.extend(tables, requests, nowMs)),
  },
  'settle: an overrun is paid from a budget that is used up': {
    ...STATEMENT,
    settle: (tables, settlements, nowMs) => withoutLimits(tables, () => STATEMENT.settle(tables, settlements, nowMs)),
  },
  'settle: charges again when the hold is gone': {
    ...STATEMENT,
    settle(tables, settlements, nowMs) {
      const late = settlements.filter(({ callId }) => !tables.holds.has(callId))
      const answers = STATEMENT.settle(tables, settlements, nowMs)
      for (const { callId, projectId, charge, worth, outcome } of late) {
        const wallet = tables.wallets.get(projectId)
        const earlier = chargeOf(tables, callId)
        if (!wallet || !earlier || outcome === 'gateway_died') continue
        const charged = least(charge, wallet.balance - wallet.held)
        wallet.balance -= charged
        tables.charges.push({ ...earlier, held: 0n, worth, charged, outcome })
      }
      return answers
    },
  },
  'settle: keeps what the call did not use': {
    ...STATEMENT,
    settle(tables, settlements, nowMs) {
      const held = new Map([...tables.holds].map(([id, { amount }]) => [id, amount]))
      const answers = STATEMENT.settle(tables, settlements, nowMs)
      for (const { callId, projectId, charge } of settlements) {
        const wallet = tables.wallets.get(projectId)
        const amount = held.get(callId) ?? 0n
        if (wallet) wallet.held += amount - least(charge, amount)
      }
      return answers
    },
  },
  'settle: takes an overrun that is not available': {
    ...STATEMENT,
    settle(tables, settlements, nowMs) {
      const answers = STATEMENT.settle(tables, settlements, nowMs)
      for (const { callId, projectId, charge: bill } of settlements) {
        const wallet = tables.wallets.get(projectId)
        const charge = chargeOf(tables, callId)
        if (!wallet || !charge || charge.outcome === 'gateway_died' || charge.charged >= bill) continue
        wallet.balance -= bill - charge.charged
        charge.charged = bill
      }
      return answers
    },
  },
  'settle: collects a late bill each time that it is sent': {
    ...STATEMENT,
    settle(tables, settlements, nowMs) {
      const earlier = tables.transfers.filter(({ kind }) => kind !== 'topup')
      tables.transfers = tables.transfers.filter(({ kind }) => kind === 'topup')
      const answers = STATEMENT.settle(tables, settlements, nowMs)
      tables.transfers.push(...earlier)
      return answers
    },
  },
  'take back: only what is available, and the rest is forgotten': {
    ...STATEMENT,
    takeBack(tables, projectId, amount, reference) {
      const wallet = tables.wallets.get(projectId)
      const available = wallet ? wallet.balance - wallet.held : 0n
      if (available > 0n) STATEMENT.takeBack(tables, projectId, least(amount, available), reference)
    },
  },
  'take back: once more when it is told of twice': {
    ...STATEMENT,
    settleReturns(tables, projectId, returns) {
      for (const { reference, amount, stands } of returns)
        if (stands) this.takeBack(tables, projectId, amount, `${reference}:${postedFor(tables, reference).length + 1}`)
    },
  },
  'take back: what one return could not take is not taken when another comes back': {
    ...STATEMENT,
    settleReturns(tables, projectId, returns) {
      const isLost = ({ reference }: Return) => postedFor(tables, reference).some(({ kind }) => kind === 'absorbed')
      STATEMENT.settleReturns(
        tables,
        projectId,
        returns.filter((each) => !each.stands || !isLost(each)),
      )
    },
  },
  'collect: not when a hold is released': {
    ...STATEMENT,
    collect(tables, projectId) {
      const isFree = ![...tables.holds.values()].some((hold) => hold.projectId === projectId)
      if (!isFree) STATEMENT.collect(tables, projectId)
    },
  },
  'collect: leaves what is owed as it was': {
    ...STATEMENT,
    collect(tables, projectId) {
      const owed = tables.wallets.get(projectId)?.owed ?? 0n
      STATEMENT.collect(tables, projectId)
      const wallet = tables.wallets.get(projectId)
      if (wallet) wallet.owed = owed
    },
  },
  'sweep: takes the holds of living gateways': {
    ...STATEMENT,
    leftBehind: (tables) => [...tables.holds.values()],
  },
  'sweep: releases a hold without deleting it': {
    ...STATEMENT,
    settle(tables, settlements, nowMs) {
      const open = new Map(tables.holds)
      const answers = STATEMENT.settle(tables, settlements, nowMs)
      for (const { callId, outcome } of settlements) {
        const hold = open.get(callId)
        if (hold && outcome === 'gateway_died') tables.holds.set(callId, hold)
      }
      return answers
    },
  },
  'sweep: never comes': { ...STATEMENT, leftBehind: () => [] },
  'replay: a hold that is sent again is granted again': {
    ...STATEMENT,
    hold(tables, gatewayId, requests, nowMs) {
      const again = requests.filter(({ callId }) => tables.holds.has(callId))
      const answers = STATEMENT.hold(tables, gatewayId, requests, nowMs)
      for (const { callId, projectId, want } of again) {
        const hold = tables.holds.get(callId)
        const wallet = tables.wallets.get(projectId)
        if (!hold || !wallet) continue
        const granted = least(want, wallet.balance - wallet.held)
        hold.amount += granted
        wallet.held += granted
      }
      return answers
    },
  },
  'replay: an extension that is sent again grows the hold again': {
    ...STATEMENT,
    extend(tables, requests, nowMs) {
      for (const { callId, extension } of requests) {
        const hold = tables.holds.get(callId)
        if (hold) hold.extension = extension - 1
      }
      return STATEMENT.extend(tables, requests, nowMs)
    },
  },
  'replay: credit that was held again for a call that is over stays held': {
    ...STATEMENT,
    settle(tables, settlements, nowMs) {
      const isOver = settlements.some(({ callId }) => tables.holds.has(callId) && chargeOf(tables, callId))
      if (isOver) throw Object.assign(new Error('duplicate key'), { code: '23505' })
      return STATEMENT.settle(tables, settlements, nowMs)
    },
  },
  'replay: a call whose idempotency key was taken over runs on': {
    ...STATEMENT,
    hold: (tables, gatewayId, requests, nowMs) =>
      STATEMENT.hold(
        tables,
        gatewayId,
        requests.map((request) => ({ ...request, hasIdempotencyKey: false })),
        nowMs,
      ),
  },
  'replay: the result of a keyed call is not stored': {
    ...STATEMENT,
    settle: (tables, settlements, nowMs) =>
      STATEMENT.settle(
        tables,
        settlements.map((settlement) => ({ ...settlement, result: undefined })),
        nowMs,
      ),
  },
}

/** Counts as ever, and lets `work` believe that no limit was set. */
function withoutLimits<T>(tables: Tables, work: () => T): T {
  const { limits } = tables
  tables.limits = limits.map((limit) => ({ ...limit, ...UNLIMITED }))
  const result = work()
  tables.limits = limits
  return result
}

/** Lets `work` believe that so much is held in the wallet, and adds what it held to what is. */
function withHeld<T>(tables: Tables, { projectId }: HoldRequest, believed: bigint, work: () => T): T {
  const wallet = tables.wallets.get(projectId)
  if (!wallet) return work()
  const { held } = wallet
  wallet.held = believed
  const result = work()
  wallet.held += held - believed
  return result
}
