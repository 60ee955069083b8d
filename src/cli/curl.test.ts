import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { readConfig } from '../config.ts'
import { curlFor, gatewayUrlOf } from './curl.ts'

const REQUIRED = { DATABASE_URL: 'postgres://x/y', PARLEY_SECRET: randomBytes(32).toString('base64') }

function urlWith(env: Record<string, string>): string {
  return gatewayUrlOf(readConfig({ ...REQUIRED, ...env }))
}

test('the request to paste calls this machine, also when the gateway listens everywhere', () => {
  assert.equal(urlWith({ PARLEY_HOST: '0.0.0.0', PARLEY_PORT: '1234' }), 'http://127.0.0.1:1234')
  assert.equal(urlWith({ PARLEY_HOST: '10.0.0.5' }), 'http://10.0.0.5:8080')
})

test('the request to paste has both keys, and asks for a stream only when told to', () => {
  const call = { url: 'http://127.0.0.1:1', publishableKey: 'ply_pk_1', secretKey: 'ply_sk_2', model: 'small' }
  const [plain, streamed] = [curlFor(call), curlFor({ ...call, stream: true })]
  for (const text of [plain, streamed]) {
    assert.match(text, /-H 'x-publishable-key: ply_pk_1' \\\n {2}-H 'x-secret-key: ply_sk_2'/)
  }
  assert.doesNotMatch(plain, /stream|-sSN/)
  assert.match(streamed, /^curl -sSN [^]*"stream":true/)
})
