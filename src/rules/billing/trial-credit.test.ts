import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trialClaimsOf } from './trial-credit.ts'

function share(one: [string, string], other: [string, string]): boolean {
  const claims = new Set(trialClaimsOf(...one))
  return trialClaimsOf(...other).some((claim) => claims.has(claim))
}

test('two spellings of one mailbox are one', () => {
  for (const [one, other] of [
    ['ada@gmail.com', 'a.d.a+farm@googlemail.com'],
    ['ada@gmail.com', 'ADA@Gmail.com'],
    ['ada@gmail.com', 'ａｄａ@gmail.com'],
    ['ada@outlook.com', 'ada+1@outlook.com'],
    ['ada@yahoo.co.uk', 'ada-shop@yahoo.co.uk'],
    ['ada.l@proton.me', 'adal@pm.me'],
    ['ada@me.com', 'ada@icloud.com'],
  ] as const)
    assert.ok(share([one, 'one.com'], [other, 'two.com']), `${one} ${other}`)
})

test('a name that was given to the publisher is no claim', () => {
  assert.deepEqual(trialClaimsOf('ada@gmail.com', null), ['ada@gmail.com'])
  assert.deepEqual(trialClaimsOf('ada@mail.example.org', null), ['ada@mail.example.org', 'example.org'])
})

test('people with mailboxes of their own are not one', () => {
  for (const [one, other] of [
    ['ada@gmail.com', 'bob@gmail.com'],
    ['a.da@outlook.com', 'ada@outlook.com'],
    ['ada@gmail.com', 'ada@outlook.com'],
    ['+1@gmail.com', '+2@gmail.com'],
  ] as const)
    assert.ok(!share([one, 'one.com'], [other, 'two.com']), `${one} ${other}`)
})

test('whoever owns a domain gets one grant, whatever addresses and names they make under it', () => {
  assert.ok(share(['a@acme.co.uk', 'one.com'], ['b@mail.acme.co.uk', 'two.com']))
  assert.ok(share(['ada@gmail.com', 'news.acme.com'], ['bob@gmail.com', 'www.acme.com']))
  assert.ok(
    share(['ada@gmail.com', 'acme.com'], ['bob@acme.com', 'two.com']),
    'the site of one, the address of another',
  )
  assert.ok(!share(['a@acme.co.uk', 'acme.co.uk'], ['b@other.co.uk', 'other.co.uk']))
})

test('names that are given away for nothing count as their provider', () => {
  assert.ok(share(['ada@gmail.com', 'ada.github.io'], ['bob@gmail.com', 'bob.github.io']))
  assert.ok(share(['ada@x.fastmail.com', 'one.com'], ['bob@y.fastmail.com', 'two.com']))
  assert.ok(share(['a@gmail.example.com', 'one.com'], ['b@gmail.example.com', 'two.com']), 'it only looks like one')
})
