import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { packed } from './packed.ts'

const TEXT = 'id,title,link,price\n'.repeat(1_000)

test('a file is packed once', async () => {
  const sent = Buffer.from(await (await packed(new Blob([TEXT]))).arrayBuffer())
  assert.ok(sent.length < TEXT.length / 10)
  assert.equal(String(gunzipSync(sent)), TEXT)
  const already = new Blob([gzipSync(TEXT)])
  assert.equal(await packed(already), already)
})
