import assert from 'node:assert/strict'
import { test } from 'node:test'
import { curlOf, envOf, masked } from './snippets.ts'

const PAIR = { publishableKey: 'ply_pk_00aa', secretKey: 'ply_sk_00bbcc', gatewayUrl: 'https://gateway.example' }

test('the command that is copied sends both keys and asks the project’s model for a stream', () => {
  assert.equal(
    curlOf({ ...PAIR, model: 'sim-small' }),
    `curl -sSN https://gateway.example/v1/chat/completions \\
  -H 'content-type: application/json' \\
  -H 'x-publishable-key: ply_pk_00aa' \\
  -H 'x-secret-key: ply_sk_00bbcc' \\
  -d '{"model":"sim-small","messages":[{"role":"user","content":"Say hello."}],"stream":true}'`,
  )
  assert.match(curlOf({ ...PAIR, model: null }), /"model":"MODEL"/)
})

test('the file that is downloaded holds the address and both keys, a line each', () => {
  assert.equal(
    envOf({ ...PAIR, model: null }),
    'PARLEY_BASE_URL=https://gateway.example/v1\nPARLEY_PUBLISHABLE_KEY=ply_pk_00aa\nPARLEY_SECRET_KEY=ply_sk_00bbcc\n',
  )
})

test('a masked secret shows what it is and nothing of what it says', () => {
  assert.equal(masked('ply_sk_00bbcc'), 'ply_sk_••••••')
  assert.equal(masked(''), '')
})
