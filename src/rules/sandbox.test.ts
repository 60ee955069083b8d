import assert from 'node:assert/strict'
import { test } from 'node:test'
import { domainNameOf } from './projects/domains.ts'
import { isForSandboxes, LABEL_LENGTH, SANDBOX_DOMAIN_CHARACTERS_MAX, sandboxDomainOf } from './sandbox.ts'

test('a sandbox has a name that DNS takes, of twelve letters and digits that spell nothing', () => {
  const all = Array.from({ length: 256 }, (_, byte) => byte)
  for (const byte of all) {
    const name = sandboxDomainOf(new Uint8Array(LABEL_LENGTH).fill(byte), 'sandbox.example.com')
    assert.match(name, /^([b-df-hjkmnp-tv-xz2-9])\1{11}\.sandbox\.example\.com$/)
    assert.equal(domainNameOf(name), name)
  }
  assert.notEqual(
    sandboxDomainOf(new Uint8Array(LABEL_LENGTH), 'a.example'),
    sandboxDomainOf(new Uint8Array(LABEL_LENGTH).fill(1), 'a.example'),
  )
})

test('the longest domain that the operator may name leaves room for it', () => {
  const labels = ['a'.repeat(63), 'b'.repeat(63), 'c'.repeat(63)].join('.')
  const domain = `${labels}.${'d'.repeat(SANDBOX_DOMAIN_CHARACTERS_MAX - labels.length - 4)}.io`
  assert.equal(domain.length, SANDBOX_DOMAIN_CHARACTERS_MAX)
  const name = sandboxDomainOf(new Uint8Array(LABEL_LENGTH), domain)
  assert.deepEqual([name.length, domainNameOf(name)], [253, name])
})

test('the operator’s domain and what is below it are for sandboxes; its neighbours and what is above are not', () => {
  const domain = 'sandbox.example.com'
  for (const name of [domain, `a.${domain}`, `b.a.${domain}`]) assert.equal(isForSandboxes(name, domain), true, name)
  for (const name of ['example.com', 'notsandbox.example.com', 'sandbox.example.com.evil.com', 'sandbox.example'])
    assert.equal(isForSandboxes(name, domain), false, name)
  assert.equal(isForSandboxes(domain, undefined), false)
})
