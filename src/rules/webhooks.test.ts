import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS, HOUR_MS, SECOND_MS } from './durations.ts'
import { endpointUrlOf, retryWaitMs, webhookBodyOf, webhookHeadersOf, webhookSecretFrom } from './webhooks.ts'

test('an endpoint is an https URL of a public name, and nothing that could be a machine of ours', () => {
  for (const url of ['https://example.com/hooks?a=1', 'https://example.com:8443/', 'https://EXAMPLE.com/x#part'])
    assert.ok('url' in endpointUrlOf(url), url)
  assert.deepEqual(endpointUrlOf(' https://EXAMPLE.com/x#part '), { url: 'https://example.com/x' })
  for (const url of [
    'http://example.com/',
    'http://169.254.169.254/latest',
    'https://169.254.169.254/latest',
    'https://localhost/',
    'https://[::1]/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://intranet/',
    'https://metadata.google.internal/',
    'https://user:word@example.com/',
    'https://example.com:6379/',
    'ftp://example.com/',
    'example.com',
    `https://example.com/${'x'.repeat(500)}`,
    // 120 characters, and 620 with their escapes.
    `https://example.com/${'é'.repeat(100)}`,
  ])
    assert.ok('problem' in endpointUrlOf(url), url)
})

test('waits double from 5 seconds to 6 hours, a fifth more or less, and three days have some twenty tries', () => {
  assert.deepEqual(
    [1, 2, 3, 4].map((attempts) => retryWaitMs(attempts, 0.5) / SECOND_MS),
    [5, 10, 20, 40],
  )
  assert.equal(retryWaitMs(1, 0), 4 * SECOND_MS)
  assert.equal(retryWaitMs(100, 0.5), 6 * HOUR_MS)
  assert.equal(retryWaitMs(100, 0.999_999_999), 7.2 * HOUR_MS)
  let [passedMs, tries] = [0, 1]
  for (; passedMs < 3 * DAY_MS; tries++) passedMs += retryWaitMs(tries, 0.5)
  assert.ok(tries > 15 && tries < 30, `${tries} tries`)
})

test('a signature is the one that Standard Webhooks gives as its example', () => {
  const event = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' }
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const headers = webhookHeadersOf(event, [secret], new Date(1_614_265_330_000))
  assert.deepEqual(headers, {
    'webhook-id': event.id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
  const both = webhookHeadersOf(event, [secret, webhookSecretFrom(Buffer.alloc(32))], new Date(1_614_265_330_000))
  assert.equal(both['webhook-signature'].split(' ').length, 2)
})

test('a body says what happened, when and to which project', () => {
  const event = { id: 'e', type: 'key.revoked', createdAt: new Date(0), projectId: 'p', data: { a: 1 } } as const
  const body = { id: 'e', type: 'key.revoked', created_at: '1970-01-01T00:00:00.000Z', project_id: 'p', data: { a: 1 } }
  assert.deepEqual(JSON.parse(webhookBodyOf(event)), body)
})
