import type { CallOutcome } from '../../src/rules/billing/charging.ts'
import type { Nanos } from '../../src/rules/money.ts'

/** The ledger's tables as plain data. Without the database's constraints: what they would refuse, the invariants find. */
export interface Tables {
  wallets: Map<string, Wallet>
  /** Open holds only, by call id. */
  holds: Map<string, HoldRow>
  /** A list, so that a second charge of the same call would show. */
  charges: Charge[]
  transfers: Transfer[]
  keys: KeyRow[]
  /** When each gateway last said that it lives. */
  beats: Map<string, number>
  limits: LimitRow[]
  /** Counts for limits. */
  counts: CountRow[]
}

export interface Wallet {
  projectId: string
  balance: Nanos
  held: Nanos
  /** Advanced for what was taken back, and not collected yet. */
  owed: Nanos
  openHolds: number
  /** The project's use in the minute that began then. */
  minuteStartedMs: number
  minuteRequests: number
  minuteTokens: number
  requestsPerMinute: number | null
  tokensPerMinute: number | null
  concurrentCalls: number | null
}

/** Null: no such limit. */
export interface LimitRow {
  scope: 'key_pair' | 'end_users' | 'end_user'
  /** For `end_users`: the project. */
  subject: string
  projectId: string
  requestsPerMinute: number | null
  tokensPerMinute: number | null
  concurrentCalls: number | null
  dayNanos: Nanos | null
  totalNanos: Nanos | null
}

export const UNLIMITED = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrentCalls: null,
  dayNanos: null,
  totalNanos: null,
}

export interface CountRow {
  id: number
  scope: 'key_pair' | 'end_user'
  subject: string
  projectId: string
  held: Nanos
  openHolds: number
  minuteStartedMs: number
  minuteRequests: number
  minuteTokens: number
  dayStartedMs: number
  dayNanos: Nanos
  totalNanos: Nanos
}

export interface HoldRow {
  id: string
  projectId: string
  keyPairId: string
  endUserId: string | undefined
  /** The rows that it is counted in, if there are limits. */
  counts: number[] | undefined
  gatewayId: string
  amount: Nanos
  extension: number
  heldMs: number
}

export interface Charge {
  id: string
  projectId: string
  keyPairId: string
  endUserId: string | undefined
  held: Nanos
  worth: Nanos
  charged: Nanos
  outcome: CallOutcome
}

export interface Transfer {
  debit: string
  credit: string
  amount: Nanos
  kind: 'topup' | 'late_charge' | 'absorbed' | 'chargeback' | 'reversal' | 'owed' | 'collection'
  reference: string
}

/** An amount that goes back to a payer, or went back and was reinstated. */
export interface Return {
  reference: string
  amount: Nanos
  stands: boolean
}

/** A claimed Idempotency-Key. */
export interface KeyRow {
  projectId: string
  key: string
  body: string
  callId: string
  gatewayId: string
  result: string | null
  createdMs: number
}

export const REVENUE = 'revenue'
export const CASH = 'cash'
export const ABSORBED = 'absorbed'
export const REFUNDS = 'refunds'
export const RECEIVABLE = 'receivable'

export function createTables(): Tables {
  const limits = { limits: [], counts: [] }
  return { wallets: new Map(), holds: new Map(), charges: [], transfers: [], keys: [], beats: new Map(), ...limits }
}

export type WalletLimits = Pick<Wallet, 'requestsPerMinute' | 'tokensPerMinute' | 'concurrentCalls'>
const NO_LIMITS: WalletLimits = { requestsPerMinute: null, tokensPerMinute: null, concurrentCalls: null }

export function addWallet(tables: Tables, projectId: string, nanos: Nanos, limits: Partial<WalletLimits> = {}): void {
  const empty = { held: 0n, owed: 0n, openHolds: 0, minuteStartedMs: 0, minuteRequests: 0, minuteTokens: 0 }
  tables.wallets.set(projectId, { projectId, balance: nanos, ...empty, ...NO_LIMITS, ...limits })
  if (nanos > 0n) post(tables, CASH, projectId, nanos, 'topup', firstTopUpOf(projectId))
}

/** The reference of what a wallet began with. */
export function firstTopUpOf(projectId: string): string {
  return `first:${projectId}`
}

/** Moves no balance: whoever posts does that. */
export function post(
  tables: Tables,
  debit: string,
  credit: string,
  amount: Nanos,
  kind: Transfer['kind'],
  reference: string,
): void {
  if (amount > 0n) tables.transfers.push({ debit, credit, amount, kind, reference })
}

/** When the minute or the day of this moment began. */
export function startOf(nowMs: number, lengthMs: number): number {
  return nowMs - (nowMs % lengthMs)
}

export function availableIn(wallet: Wallet): Nanos {
  return wallet.balance - wallet.held
}

export function chargeOf(tables: Tables, callId: string): Charge | undefined {
  return tables.charges.find(({ id }) => id === callId)
}

export function transferOf(tables: Tables, reference: string): Transfer | undefined {
  return tables.transfers.find((transfer) => transfer.reference === reference)
}
