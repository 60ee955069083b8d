import type { Mutant } from './mutant.ts'

const CHARGES = 'src/actions/billing/charge-cards.ts'
const STORE = 'src/store/billing/top-ups/auto-top-ups.ts'
const RULES = 'src/rules/billing/auto-top-ups.ts'
const CHARGED = 'test/integration/auto-top-ups.test.ts'

/** Saved cards: what is charged to them, how often, and what becomes of the money. */
export const TOP_UPS: Mutant[] = [
  {
    bug: 'a saved card is charged again by whoever finds a payment without an answer',
    file: 'src/actions/billing/stripe-cards.ts',
    from: '{ idempotencyKey: topUp.id },',
    to: '{ idempotencyKey: crypto.randomUUID() },',
    test: CHARGED,
    title:
      'a worker that is killed before it hears Stripe’s answer has charged once; whoever asks again gets that answer',
  },
  {
    bug: 'a saved card is charged for a payment that nobody remembers after a crash',
    file: CHARGES,
    from: 'each(await listPendingTopUps(db, TOP_UPS_PER_RUN),',
    to: 'each((await listPendingTopUps(db, TOP_UPS_PER_RUN)).slice(1),',
    test: CHARGED,
    title:
      'a worker that is killed before Stripe is asked leaves a payment that the next one finishes: one charge, one credit',
  },
  {
    bug: 'two workers charge a saved card for the same low balance',
    file: CHARGES,
    from: 'if (!(await isStillDue(tx, projectId, settings.threshold))) return false',
    to: 'await isStillDue(tx, projectId, settings.threshold)',
    test: CHARGED,
    title: 'below the threshold the card is charged once, and the credit is booked under the payment’s own id',
  },
  {
    bug: 'the cap of a month for a saved card counts what was declined instead of what was charged',
    file: STORE,
    from: "m.is_automatic and m.state <> 'expired'",
    to: "m.is_automatic and m.state = 'expired'",
    test: CHARGED,
    title: 'the last top-up is the one that still fits',
  },
  {
    bug: 'the cap of a month for a saved card is exceeded by the last top-up',
    file: RULES,
    from: 'return charged + amount <= monthMax',
    to: 'return charged < monthMax',
    test: 'src/rules/billing/auto-top-ups.test.ts',
    title: 'a top-up fits in its month up to the last cent of the cap, and not one cent beyond',
  },
  {
    bug: 'projects whose month is used up take the places of those whose card is to be charged',
    file: STORE,
    from: 'and a.amount_nanos + ${chargedThisMonth(sql`a.project_id`)} <= a.month_max_nanos',
    to: '',
    test: CHARGED,
    title: 'who has no room left in the month takes nobody else’s place among those who are due',
  },
  {
    bug: 'a saved card that is declined is tried for ever',
    file: RULES,
    from: 'if (waitMs === undefined) return { declines, nextTryAt: null, pausedAt: now }',
    to: 'if (waitMs === undefined) return { declines, nextTryAt: now, pausedAt: null }',
    test: 'src/rules/billing/auto-top-ups.test.ts',
    title: 'after a decline the next try waits an hour, then twelve; after the third in a row there is none',
  },
  {
    bug: 'a decline of a saved card counts for each worker that hears of it',
    file: CHARGES,
    from: 'if (!(await markFailed(tx, id, reason))) return',
    to: 'await markFailed(tx, id, reason)',
    test: CHARGED,
    title: 'a decline that two workers hear of counts once, and nobody begins another before its time',
  },
  {
    bug: 'a payment by a saved card is asked for again after Stripe has forgotten its key',
    file: RULES,
    from: 'export const SAME_KEY_MS = 20 * HOUR_MS',
    to: 'export const SAME_KEY_MS = 200 * HOUR_MS',
    test: CHARGED,
    title:
      'a payment of which nobody knows is only looked for when Stripe may have forgotten its key, and never charged again',
  },
  {
    bug: 'a saved card that was removed while Stripe was away is charged when it is back',
    file: CHARGES,
    from: 'if (ageMs > SAME_KEY_MS || !(await isStillWanted(db, topUp)))',
    to: 'if (ageMs > SAME_KEY_MS)',
    test: CHARGED,
    title: 'who removed the card while Stripe was away is not charged when it is back',
  },
  {
    bug: 'the webhook does not know the payment of a saved card',
    file: 'src/actions/billing/stripe.ts',
    from: "    case 'payment_intent.succeeded':\n",
    to: "    case 'payment_intent.succeeded ':\n",
    test: CHARGED,
    title: 'the webhook may come before the worker’s own answer, twice and late: one credit',
  },
  {
    bug: 'tax on a top-up becomes credit',
    file: 'src/actions/billing/payments.ts',
    from: 'amount: event.amount - tax,',
    to: 'amount: payment.amount_nanos,',
    test: CHARGED,
    title: 'a payment of another amount than was asked for is not credited',
  },
  {
    bug: 'a late event brings back a saved card that was removed',
    file: 'src/store/billing/top-ups/wallet-cards.ts',
    from: '.set({ saves_card: false })',
    to: '.set({ saves_card: true })',
    test: CHARGED,
    title: 'that is removed is forgotten by Stripe, too, and no late event brings it back',
  },
  {
    bug: 'an invoice of another project is shown to who names its payment',
    file: 'src/store/billing/payments.ts',
    from: ".select(['is_automatic', 'payment_intent'])\n    .where('project_id', '=', projectId)\n",
    to: ".select(['is_automatic', 'payment_intent'])\n",
    test: 'test/integration/store-scopes.test.ts',
    title: 'findPaid reads nothing of another site',
  },
]
