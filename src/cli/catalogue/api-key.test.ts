import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { lastOf } from '../../rules/catalogue/api-keys.ts'
import { readApiKey } from './api-key.ts'

test('of a key its last four characters are shown, of a short one nothing, and never of the secret half of a pair', () => {
  assert.equal(lastOf('sk-live-0123456789abcd'), 'abcd')
  assert.equal(lastOf('short-key'), '')
  assert.equal(lastOf('AKIAEXAMPLE000001234:wJalrXUtnFEMI-very-secret'), '1234')
})

test('the file of a service account becomes one line, of which only the id of its key is shown', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'parley-key-'))
  t.after(() => rm(dir, { recursive: true }))
  const account = { type: 'service_account', private_key_id: '0123456789abcdef', private_key: '-----BEGIN\nx y\n' }
  await writeFile(join(dir, 'account.json'), JSON.stringify(account, null, 2))
  const key = await readApiKey({ apiKey: true, apiKeyFile: join(dir, 'account.json') })
  assert.match(String(key), /^[A-Za-z0-9+/=]+$/)
  assert.deepEqual(JSON.parse(Buffer.from(String(key), 'base64').toString()), account)
  assert.equal(lastOf(String(key)), 'cdef')
})

test('a key of several lines is refused', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'parley-key-'))
  t.after(() => rm(dir, { recursive: true }))
  for (const text of ['a b', 'one\ntwo', '{ not json', 'ключ']) {
    await writeFile(join(dir, 'key'), text)
    await assert.rejects(readApiKey({ apiKey: true, apiKeyFile: join(dir, 'key') }), /is not an API key/, text)
  }
})
