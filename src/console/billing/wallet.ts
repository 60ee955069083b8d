import type { FastifyInstance } from 'fastify'
import { Readable } from 'node:stream'
import { openCheckout } from '../../actions/billing/checkout.ts'
import { CheckoutFailed } from '../../actions/billing/stripe.ts'
import { changeAlert } from '../../actions/billing/wallets.ts'
import { conflict, notThere, wrongField } from '../../actions/refusals.ts'
import { DAY_MS } from '../../rules/durations.ts'
import { csvOf } from '../../rules/csv.ts'
import { ParleyError } from '../../rules/errors.ts'
import { titleOfMovement, type LedgerKind } from '../../rules/billing/ledger-labels.ts'
import { formatAmount, formatCredits } from '../../rules/money.ts'
import { centsOf, TOP_UP_MAX, TOP_UP_MIN } from '../../rules/billing/payments.ts'
import { completionIdOf } from '../../rules/billing/receipts.ts'
import { endpointOf, type CallEndpointName } from '../../rules/endpoints.ts'
import { findEndpoints } from '../../store/calls/calls.ts'
import type { Db } from '../../store/database.ts'
import { findPayment } from '../../store/billing/payments.ts'
import { findAlert } from '../../store/billing/wallet-alerts.ts'
import { listLedger, sumChargedSince, type LedgerPlace, type LedgerRow } from '../../store/billing/wallet-ledger.ts'
import { findWallet } from '../../store/billing/wallets.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { route } from '../route.ts'
import { throttle } from '../throttle.ts'
import { forecastOf } from './forecast.ts'
import type { World } from '../world.ts'

const SPENT_DAYS = 7
const CHECKOUTS_PER_MINUTE = 10
const CSV_ROWS_MAX = 100_000
const CSV_ROWS_PER_READ = 1_000
const CSV_HEADER = [
  'time (UTC)',
  'type',
  'in (USD)',
  'out (USD)',
  'balance after (USD)',
  'calls',
  'completion id',
].concat(['reference', 'note', 'id'])

export function walletRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/wallet', ({ db, project }) => describeWallet(world, db, project.id))

  route(app, world, 'GET /api/projects/:project/ledger', async ({ db, project, query }) => {
    const search = { ...filtersOf(query), projectId: project.id, after: placeOf(query.after), most: query.limit }
    const { rows, next } = await listLedger(db, search)
    return {
      items: await entriesOf(db, project.id, rows),
      next: next ? `${next.atUs}.${next.id}.${next.balance}` : null,
    }
  })
  route(app, world, 'GET /api/projects/:project/ledger.csv', (call) => Readable.from(csvRows(call)))

  route(app, world, 'PUT /api/projects/:project/wallet-alert', async ({ db, actor, project, body }) => {
    await changeAlert(db, actor, { project, threshold: body.thresholdNanos })
    return { alertNanos: body.thresholdNanos }
  })

  route(app, world, 'POST /api/projects/:project/checkouts', (call) => pay(world, call))

  route(app, world, 'GET /api/projects/:project/checkouts/:checkout', async ({ db, project, params }) => {
    const payment = await findPayment(db, project.id, params.checkout)
    if (!payment) throw notThere('checkout')
    return { state: payment.state as 'created', amountNanos: payment.amount_nanos, paidAt: payment.paid_at }
  })
}

async function describeWallet(world: World, db: Db, projectId: string) {
  const wallet = await findWallet(db, projectId)
  if (!wallet) throw notThere('project')
  const available = wallet.balance_nanos - wallet.held_nanos
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS
  const spent = await sumChargedSince(db, projectId, new Date(today - (SPENT_DAYS - 1) * DAY_MS))
  return {
    balanceNanos: wallet.balance_nanos,
    heldNanos: wallet.held_nanos,
    runningCalls: wallet.open_holds,
    availableNanos: available,
    owedNanos: wallet.owed_nanos,
    spent7dNanos: spent,
    daysLeft: (await forecastOf(db, projectId)).daysLeft,
    alertNanos: (await findAlert(db, projectId)) ?? null,
    topUp: { isOpen: world.installation.canPay, minNanos: TOP_UP_MIN, maxNanos: TOP_UP_MAX },
  }
}

async function pay(world: World, call: ConsoleRequest<'POST /api/projects/:project/checkouts'>) {
  const { actor, project, body, inTenant } = call
  const { stripe, installation } = world
  const { amountNanos: amount, saveCard: savesCard = false } = body
  if (!stripe || !installation.canPay)
    throw conflict('Payments are not set up on this installation. Ask its operator to add credit.')
  if (amount < TOP_UP_MIN || amount > TOP_UP_MAX || centsOf(amount) === undefined)
    throw wrongField('amountNanos', `Whole cents, from ${formatCredits(TOP_UP_MIN)} to ${formatCredits(TOP_UP_MAX)}.`)
  await throttle(world.db, [{ subject: `checkouts/${project.id}`, most: CHECKOUTS_PER_MINUTE }])
  const page = `${installation.consoleUrl}/projects/${project.id}/wallet`
  const pages = { successUrl: `${page}?paid={CHECKOUT_SESSION_ID}`, cancelUrl: page }
  const { sessionId, url } = await openCheckout(inTenant, actor, {
    project,
    amount,
    savesCard,
    stripe,
    ...pages,
  }).catch((error: unknown) => {
    if (!(error instanceof CheckoutFailed)) throw error
    const message = 'The payment page could not be opened. Nothing was charged. Try again in a moment.'
    throw new ParleyError('upstream_failed', { message, details: { reason: error.message } })
  })
  return { id: sessionId, url }
}

interface LedgerQuery {
  kind?: LedgerKind | undefined
  from?: string | undefined
  to?: string | undefined
}

function filtersOf({ kind, from, to }: LedgerQuery) {
  return {
    kinds: kind && [kind],
    from: from === undefined ? undefined : new Date(from),
    to: to === undefined ? undefined : new Date(to),
  }
}

const PLACE = /^(\d{1,18})\.([0-9a-f-]{36})\.(-?\d{1,18})$/

function placeOf(after: string | undefined): LedgerPlace | undefined {
  if (after === undefined) return undefined
  const [, atUs, id, balance] = PLACE.exec(after) ?? []
  if (atUs === undefined || id === undefined || balance === undefined)
    throw wrongField('after', 'Use the value of next of an earlier page.')
  return { atUs: BigInt(atUs), id, balance: BigInt(balance) }
}

function timeOf({ kind, atUs }: LedgerRow): Date {
  const ms = Number(atUs / 1_000n)
  return new Date(kind === 'usage' ? Math.floor(ms / DAY_MS) * DAY_MS : ms)
}

async function entriesOf(db: Db, projectId: string, rows: readonly LedgerRow[]) {
  const endpoints = await findEndpoints(
    db,
    projectId,
    rows.map(callIn).filter((callId) => callId !== null),
  )
  return rows.map((row) => entryOf(row, endpoints))
}

/** The call that a movement corrects. What else is corrected is another transfer. */
function callIn({ kind, delta, corrects }: LedgerRow): string | null {
  return kind === 'late_charge' || (kind === 'refund' && delta > 0n) ? corrects : null
}

function entryOf(row: LedgerRow, endpoints: ReadonlyMap<string, CallEndpointName>) {
  const { kind, delta, balanceAfter, calls, reference, reason } = row
  const at = timeOf(row)
  const callId = callIn(row)
  return {
    id: kind === 'usage' ? at.toISOString().slice(0, 10) : row.id,
    kind,
    title: titleOfMovement(kind, delta),
    at,
    deltaNanos: delta,
    balanceAfterNanos: balanceAfter,
    calls,
    reference,
    reason,
    call: callId === null ? null : completionIdOf(callId, endpointOf(endpoints.get(callId))),
  }
}

/** Many short transactions: a slow download holds none open. */
async function* csvRows({
  inTenant,
  project,
  query,
}: ConsoleRequest<'GET /api/projects/:project/ledger.csv'>): AsyncGenerator<string> {
  yield csvOf(CSV_HEADER, [])
  let after: LedgerPlace | undefined
  for (let sent = 0; sent < CSV_ROWS_MAX;) {
    const search = { ...filtersOf(query), projectId: project.id, after, most: CSV_ROWS_PER_READ }
    const { entries, next } = await inTenant(async (db) => {
      const found = await listLedger(db, search)
      return { entries: await entriesOf(db, project.id, found.rows), next: found.next }
    })
    const [first, ...others] = entries.map(cellsOf)
    if (first) yield csvOf(first, others)
    sent += entries.length
    after = next
    if (next === undefined) return
  }
}

/** Amounts without a sign: a spreadsheet would take one for a formula. */
function cellsOf(entry: ReturnType<typeof entryOf>): string[] {
  const { id, title, at, deltaNanos, balanceAfterNanos, calls, reference, reason, call } = entry
  return [
    at.toISOString(),
    title,
    deltaNanos > 0n ? formatAmount(deltaNanos) : '',
    deltaNanos < 0n ? formatAmount(-deltaNanos) : '',
    formatAmount(balanceAfterNanos),
    String(calls ?? ''),
    call ?? '',
    reference ?? '',
    reason ?? '',
    id,
  ]
}
