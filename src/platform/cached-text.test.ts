import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { createCachedText } from './cached-text.ts'

const TEXT = 'the same for everybody '.repeat(100)
const text = createCachedText(() => TEXT, 'text/plain')

test('who takes gzip gets it, and who does not gets the text as it is', () => {
  for (const accepted of ['gzip', 'br, gzip', 'gzip;q=0.5', 'GZIP']) {
    const { status, headers, body } = text.answerFor({ 'accept-encoding': accepted })
    assert.deepEqual([status, headers['content-encoding'], headers.vary], [200, 'gzip', 'accept-encoding'], accepted)
    assert.equal(gunzipSync(body ?? '').toString(), TEXT)
    assert.ok(body && body.length < TEXT.length / 10)
  }
  for (const accepted of [undefined, '', 'br', 'gzip;q=0', 'gzip; q=0.000, br', 'identity']) {
    const { headers, body } = text.answerFor({ 'accept-encoding': accepted })
    assert.deepEqual([headers['content-encoding'], body?.toString()], [undefined, TEXT], accepted)
  }
})

test('who has it already is told so, in the encoding that they have', () => {
  for (const accepted of ['gzip', 'identity']) {
    const { etag } = text.answerFor({ 'accept-encoding': accepted }).headers
    const again = text.answerFor({ 'accept-encoding': accepted, 'if-none-match': String(etag) })
    assert.deepEqual([again.status, again.body, again.headers.etag], [304, undefined, etag])
    const other = accepted === 'gzip' ? 'identity' : 'gzip'
    assert.equal(text.answerFor({ 'accept-encoding': other, 'if-none-match': String(etag) }).status, 200)
  }
  const changed = createCachedText(() => `${TEXT}!`, 'text/plain').answerFor({}).headers.etag
  assert.notEqual(changed, text.answerFor({}).headers.etag)
})
