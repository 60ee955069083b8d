/** Stripe's records, as far as Parley asks for them: checkouts, customers and their cards, payments, invoices, request keys. */

export type Form = Record<string, string>
export type Reply = [status: number, body: unknown]

interface Asked {
  method: string
  path: string
  query: Form
  form: Form
}

export interface Intent {
  id: string
  object: 'payment_intent'
  amount: number
  amount_received: number
  created: number
  currency: string
  customer: string | null
  latest_charge: string
  metadata: Form
  payment_method: string | null
  status: 'succeeded' | 'requires_payment_method' | 'requires_action' | 'processing'
  last_payment_error: { code: string; decline_code: string } | null
}

interface Method {
  id: string
  object: 'payment_method'
  type: 'card'
  customer: string | null
  card: { brand: string; last4: string; exp_month: number; exp_year: number }
}

/** Counts across all stand-ins of the process; with its id, no two that tests use at the same time have an id in common. */
let made = 0
const newId = (prefix: string) => `${prefix}_${process.pid}x${(made += 1)}`

export class StripeObjects {
  readonly checkouts: Form[] = []
  readonly methods = new Map<string, Method>()
  readonly intents = new Map<string, Intent>()
  /** How the next cards that are charged are declined, by the bank's code. */
  readonly declines: string[] = []
  /** In percent of what is sold, where tax is asked for. */
  readonly taxPercent = 19
  /** Why the next calculations of tax are refused. */
  readonly taxRefusals: string[] = []
  /** After a card was charged and before it is told. Returns true when the answer is to be lost on the way. */
  onCharged: (intent: Intent) => Promise<boolean> | boolean = () => false
  private readonly url: string
  private readonly sessions = new Map<string, { order: Form; invoice: string | null }>()
  /** The first answer under each key, and what was asked for it. Undefined while it is being worked on. */
  private readonly keys = new Map<string, { asked: string; reply: Reply | undefined }>()

  constructor(url: string) {
    this.url = url
  }

  /** As Stripe does after a day. */
  forgetKeys(): void {
    this.keys.clear()
  }

  /** Somebody pays on the page of a checkout. Returns the session as its event has it. */
  payCheckout(sessionId: string, card = { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2030 }) {
    const session = this.sessions.get(sessionId)
    if (!session) throw new Error(`nobody asked for ${sessionId}`)
    const { order } = session
    const subtotal = Number(order['line_items[0][price_data][unit_amount]'])
    const isTaxed = order['automatic_tax[enabled]'] === 'true'
    const total = subtotal + (isTaxed ? this.taxOf(subtotal) : 0)
    const isSaved = order['payment_intent_data[setup_future_usage]'] === 'off_session'
    const hasInvoice = order['invoice_creation[enabled]'] === 'true'
    const customer = hasInvoice || order.customer_creation === 'always' ? newId('cus') : null
    const method: Method = { id: newId('pm'), object: 'payment_method', type: 'card', card, customer: null }
    if (isSaved) method.customer = customer
    this.methods.set(method.id, method)
    const metadata = { parley_project: order['payment_intent_data[metadata][parley_project]'] ?? '' }
    const intent = this.addIntent({ amount: total, currency: 'usd', customer, metadata, payment_method: method.id })
    session.invoice = hasInvoice ? newId('in') : null
    return {
      id: sessionId,
      object: 'checkout.session',
      payment_status: 'paid',
      payment_intent: intent.id,
      customer,
      invoice: session.invoice,
      amount_subtotal: subtotal,
      amount_total: total,
      total_details: { amount_tax: total - subtotal },
      currency: 'usd',
    }
  }

  async answer(asked: Asked, key: string | undefined): Promise<Reply | 'lost'> {
    if (key === undefined || asked.method !== 'POST') return this.replyTo(asked)
    const text = JSON.stringify([asked.path, asked.form])
    const known = this.keys.get(key)
    if (known && known.asked !== text) return refusal(400, 'idempotency_error', 'idempotency_key_reused')
    if (known && !known.reply) return refusal(409, 'idempotency_error', 'idempotency_key_in_use')
    if (known?.reply) return known.reply
    this.keys.set(key, { asked: text, reply: undefined })
    const reply = this.replyTo(asked)
    this.keys.set(key, { asked: text, reply })
    const charged = reply[1] as Partial<Intent>
    const isLost = charged.object === 'payment_intent' && (await this.onCharged(charged as Intent))
    return isLost ? 'lost' : reply
  }

  replyTo({ method, path, query, form }: Asked): Reply {
    const [, , noun = '', id = '', verb = ''] = path.replace('/checkout/', '/checkout_').split('/')
    switch (`${method} ${noun}${id === '' ? '' : ' id'}${verb === '' ? '' : ` ${verb}`}`) {
      case 'POST checkout_sessions':
        return this.openCheckout(form)
      case 'GET checkout_sessions id':
        return this.showSession(id)
      case 'POST payment_intents':
        return this.charge(form)
      case 'GET payment_intents':
        return this.listIntents(query)
      case 'GET payment_intents id':
        return this.showIntent(id)
      case 'POST payment_methods id detach':
        return this.detach(id)
      case 'POST tax id':
        return this.calculateTax(form)
      default:
        return refusal(404, 'invalid_request_error')
    }
  }

  openCheckout(order: Form): Reply {
    this.checkouts.push(order)
    const id = `cs_test_${this.checkouts.length}`
    this.sessions.set(id, { order, invoice: null })
    return [200, { id, object: 'checkout.session', url: `${this.url}/pay/${id}`, payment_status: 'unpaid' }]
  }

  /** Also one that was paid before this stand-in was started. */
  showSession(id: string): Reply {
    const session = this.sessions.get(id) ?? (id.startsWith('cs_test_before_') ? { invoice: `in_of_${id}` } : undefined)
    if (!session) return refusal(404, 'invalid_request_error', 'resource_missing')
    const { invoice } = session
    const shown = invoice && { id: invoice, object: 'invoice', hosted_invoice_url: `https://invoice.test/${invoice}` }
    return [200, { id, object: 'checkout.session', invoice: shown }]
  }

  /** A card that is charged while nobody is there: it must be the customer's own, and is declined rather than asked about. */
  charge(form: Form): Reply {
    const method = this.methods.get(form.payment_method ?? '')
    if (form.confirm !== 'true' || form.off_session !== 'true') return refusal(400, 'invalid_request_error')
    if (!method || method.customer === null || method.customer !== form.customer)
      return refusal(400, 'invalid_request_error', 'resource_missing')
    const metadata = Object.fromEntries(
      Object.entries(form).flatMap(([name, value]) => {
        const [, field] = /^metadata\[(\w+)\]$/.exec(name) ?? []
        return field === undefined ? [] : [[field, value]]
      }),
    )
    const order = { amount: Number(form.amount), currency: String(form.currency), customer: method.customer, metadata }
    const intent = this.addIntent({ ...order, payment_method: method.id })
    const decline = this.declines.shift()
    if (decline === undefined) return [200, intent]
    const code = decline === 'authentication_required' ? decline : 'card_declined'
    intent.status = 'requires_payment_method'
    intent.amount_received = 0
    intent.last_payment_error = { code, decline_code: decline }
    return [402, { error: { type: 'card_error', code, decline_code: decline, payment_intent: intent } }]
  }

  addIntent(order: Pick<Intent, 'amount' | 'currency' | 'customer' | 'metadata' | 'payment_method'>): Intent {
    const intent: Intent = {
      id: newId('pi'),
      object: 'payment_intent',
      ...order,
      amount_received: order.amount,
      created: Math.floor(Date.now() / 1_000),
      latest_charge: newId('ch'),
      status: 'succeeded',
      last_payment_error: null,
    }
    this.intents.set(intent.id, intent)
    return intent
  }

  listIntents({ customer, 'created[gte]': since = '0' }: Form): Reply {
    const data = [...this.intents.values()].filter(
      (each) => each.customer === customer && each.created >= Number(since),
    )
    return [200, { object: 'list', data, has_more: false, url: '/v1/payment_intents' }]
  }

  showIntent(id: string): Reply {
    const intent = this.intents.get(id)
    if (!intent) return refusal(404, 'invalid_request_error', 'resource_missing')
    const { latest_charge: charged } = intent
    const receipt = { id: charged, object: 'charge', receipt_url: `https://receipt.test/${charged}` }
    return [
      200,
      { ...intent, payment_method: this.methods.get(intent.payment_method ?? '') ?? null, latest_charge: receipt },
    ]
  }

  detach(id: string): Reply {
    const method = this.methods.get(id)
    if (!method || method.customer === null) return refusal(400, 'invalid_request_error', 'resource_missing')
    method.customer = null
    return [200, method]
  }

  calculateTax(form: Form): Reply {
    const code = this.taxRefusals.shift()
    if (code !== undefined) return refusal(400, 'invalid_request_error', code)
    return [200, { id: newId('taxcalc'), tax_amount_exclusive: this.taxOf(Number(form['line_items[0][amount]'])) }]
  }

  taxOf(cents: number): number {
    return Math.round((cents * this.taxPercent) / 100)
  }
}

function refusal(status: number, type: string, code?: string): Reply {
  return [status, { error: { type, message: 'Unrecognized request', ...(code !== undefined && { code }) } }]
}
