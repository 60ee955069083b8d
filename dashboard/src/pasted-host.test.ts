import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pastedHost } from './pasted-host.ts'

test('of an address that was pasted the host is named, and of a bare name nothing', () => {
  assert.equal(pastedHost(' https://Site.example.org/path?x=1 '), 'site.example.org')
  assert.equal(pastedHost('site.example.org:8443/path'), 'site.example.org')
  for (const text of ['site.example.org', '', 'https://', 'https://localhost/x', 'https://me:pw@x.com/', 'https:'])
    assert.equal(pastedHost(text), undefined, text)
})
