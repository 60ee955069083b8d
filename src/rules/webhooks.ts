import { DAY_MS, HOUR_MS, SECOND_MS } from './durations.ts'
import { keyedDigest } from './keyed-digest.ts'
import { domainNameOf } from './projects/domains.ts'

/**
 * The events that publishers' endpoints are notified of, how they are signed (standardwebhooks.com), and when they are sent
 * again.
 */

export const WEBHOOK_EVENTS = [
  'alert.opened',
  'alert.closed',
  'wallet.topped_up',
  'key.created',
  'key.revoked',
  'domain.verified',
  'domain.lapsed',
] as const
/** Sent when somebody asks for it, to whichever endpoint they ask it for. */
export const TEST_EVENT = 'webhook.test'
export type WebhookEventType = (typeof WEBHOOK_EVENTS)[number] | typeof TEST_EVENT

export const ENDPOINTS_MAX = 5
/** Deliveries that wait at one endpoint. Whatever comes then has failed at once, and can be sent again. */
export const WAITING_MAX = 1_000
/** From the event, or from when somebody had it sent again. */
export const GIVES_UP_AFTER_MS = 3 * DAY_MS
/** An endpoint that took nothing for so long is switched off. */
export const OFF_AFTER_MS = 3 * DAY_MS
/** Both secrets sign for so long, so that a server can be given the new one at any time. */
export const OLD_SECRET_MS = DAY_MS

const URL_CHARACTERS_MAX = 500
const PORTS = new Set(['', '8443'])

/** The URL as it is called, or what is wrong with it. An address of our own network must not even be stored. */
export function endpointUrlOf(text: string): { url: string } | { problem: string } {
  const url = URL.parse(text.trim())
  if (url) url.hash = ''
  // As it is stored: what needs escapes is longer than what was typed.
  if (!url || url.href.length > URL_CHARACTERS_MAX) return { problem: 'Enter a URL like https://example.com/webhooks.' }
  if (url.protocol !== 'https:') return { problem: 'Enter a URL that begins with https://.' }
  if (url.username !== '' || url.password !== '') return { problem: 'Leave the user name and password out of the URL.' }
  if (domainNameOf(url.hostname) !== url.hostname)
    return { problem: 'Enter a public domain name. IP addresses and names of a local network are refused.' }
  if (!PORTS.has(url.port)) return { problem: 'Use port 443 or 8443.' }
  return { url: url.href }
}

export interface WebhookEvent {
  id: string
  type: WebhookEventType
  createdAt: Date
  projectId: string
  data: Record<string, unknown>
}

export function webhookBodyOf({ id, type, createdAt, projectId, data }: WebhookEvent): string {
  return JSON.stringify({ id, type, created_at: createdAt.toISOString(), project_id: projectId, data })
}

const SECRET_PREFIX = 'whsec_'
export const WEBHOOK_SECRET_BYTES = 32

export function webhookSecretFrom(random: Buffer): string {
  return `${SECRET_PREFIX}${random.toString('base64')}`
}

/** With each secret, because a server may have either while one replaces the other. */
export function webhookHeadersOf(
  event: { id: string; body: string },
  secrets: readonly string[],
  now: Date,
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const timestamp = String(Math.floor(now.getTime() / SECOND_MS))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    return `v1,${keyedDigest(key).update(`${event.id}.${timestamp}.${event.body}`).digest('base64')}`
  })
  return { 'webhook-id': event.id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}

const FIRST_WAIT_MS = 5 * SECOND_MS
const WAIT_MS_MAX = 6 * HOUR_MS
const JITTER = 0.2

/** After so many tries: 5 seconds, and twice as long each time up to 6 hours, a fifth more or less by chance. */
export function retryWaitMs(attempts: number, random: number): number {
  const wait = Math.min(FIRST_WAIT_MS * 2 ** Math.min(attempts - 1, 30), WAIT_MS_MAX)
  return Math.round(wait * (1 - JITTER + 2 * JITTER * random))
}

/** Why a try failed, in words. */
export const DELIVERY_ERRORS = {
  timeout: 'No complete answer within 10 seconds.',
  connection: 'The connection failed or was closed before an answer came.',
  certificate: 'The certificate is not valid for this name.',
  redirect: 'The endpoint answered with a redirect. Redirects are not followed: enter the final URL.',
  status: 'The endpoint answered with a status other than 2xx.',
  no_address: 'The name has no address.',
  address_not_public: 'The name leads to an address that is not public.',
  dns: 'No name server answered.',
  malformed: 'The answer was not valid HTTP.',
  queue_full: '1,000 events were waiting for this endpoint already, so this one was not tried.',
  secret: 'Parley could not open the signing secret. Roll the secret.',
} as const
export type DeliveryError = keyof typeof DELIVERY_ERRORS

export function wordsOfDeliveryError(error: string | null): string | null {
  return error !== null && Object.hasOwn(DELIVERY_ERRORS, error) ? DELIVERY_ERRORS[error as DeliveryError] : error
}
