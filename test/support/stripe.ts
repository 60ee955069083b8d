/** A stand-in for the part of Stripe that Parley uses: its API over real HTTP, and its signed events. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Stripe } from 'stripe'
import { StripeObjects, type Form, type Reply } from './stripe-objects.ts'

export const STRIPE_KEY = 'sk_test_standInKeyOfTheTests0123456789'
export const WEBHOOK_SECRET = 'whsec_standInSecretOfTheTests0123456789'

export interface StripeStandIn {
  url: string
  /** The form fields of each checkout that was asked for. */
  checkouts: Form[]
  /** The next requests are answered with these statuses instead. */
  failures: number[]
  /** The records that it has: customers, cards, payments, and the request made under each key. */
  objects: StripeObjects
  close(): Promise<void>
}

const BODY_BYTES_MAX = 100_000

export async function startStripe(): Promise<StripeStandIn> {
  const failures: number[] = []
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const objects = new StripeObjects(url)
  return {
    url,
    checkouts: objects.checkouts,
    failures,
    objects,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = Object.fromEntries(new URLSearchParams(await textOf(request)))
    const failure = failures.shift()
    if (request.headers.authorization !== `Bearer ${STRIPE_KEY}`) {
      send(response, [401, { error: { type: 'invalid_request_error', message: `Invalid API Key: ${STRIPE_KEY}` } }])
    } else if (failure !== undefined) {
      send(response, [failure, { error: { type: 'api_error', message: `told to fail, ${STRIPE_KEY}` } }])
    } else {
      const { method = '', headers } = request
      const key = headers['idempotency-key']
      const { pathname, searchParams } = new URL(request.url ?? '/', url)
      const asked = { method, path: pathname, query: Object.fromEntries(searchParams), form }
      const reply = await objects.answer(asked, typeof key === 'string' ? key : undefined)
      // The client has gone, or is meant to believe that the network has.
      if (reply === 'lost') response.destroy()
      else send(response, reply)
    }
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += String(chunk)
    if (text.length > BODY_BYTES_MAX) request.destroy()
  }
  return text
}

function send(response: ServerResponse, [status, body]: Reply): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

let events = 0

/** An event as Stripe writes it, with more fields than anyone reads. */
export function eventOf(type: string, object: Record<string, unknown>, created = Date.now() / 1000): string {
  events += 1
  return JSON.stringify({
    id: `evt_${events}`,
    object: 'event',
    api_version: '2026-10-28.endive',
    created: Math.floor(created),
    data: { object: { livemode: false, customer_details: { email: 'payer@example.com' }, ...object } },
    livemode: false,
    pending_webhooks: 1,
    type,
  })
}

export function signatureOf(payload: string, options: { secret?: string; ageSeconds?: number } = {}): string {
  const { secret = WEBHOOK_SECRET, ageSeconds = 0 } = options
  return Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: Date.now() / 1000 - ageSeconds })
}
