import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostToShow, isDrawable, linkTarget, withVisibleControls } from './safe-text.ts'

test('only the web and mail can be linked to, in whatever spelling the rest comes', () => {
  assert.equal(linkTarget('https://a.example/b?c#d'), 'https://a.example/b?c#d')
  assert.equal(linkTarget('HTTP://A.example'), 'http://a.example/')
  assert.equal(linkTarget('mailto:a@b.example'), 'mailto:a@b.example')
  for (const address of [
    'javascript:alert(1)',
    ' JaVa\tScRiPt:alert(1)',
    'java\nscript:alert(1)',
    '\u0001javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://a.example/1',
    'about:blank',
    '/account',
    '//evil.example/x',
    '#main',
    '?x',
    '',
    'https://',
  ])
    assert.equal(linkTarget(address), undefined, JSON.stringify(address))
})

test('an address that poses as another one is no link', () => {
  assert.equal(linkTarget('https://bank.example@evil.example/'), undefined)
  assert.equal(linkTarget('https://bank.example:x@evil.example/'), undefined)
})

test('a link says where it goes unless its words begin with that', () => {
  assert.equal(hostToShow('https://evil.example/a', 'https://bank.example'), 'evil.example')
  assert.equal(hostToShow('https://evil.example/a', ['https://', 'evil.example/a']), undefined)
  assert.equal(hostToShow('https://evil.example/', 'evil.example'), undefined)
  assert.equal(hostToShow('https://evil.example/', 'evil.example.bank.com'), 'evil.example')
  assert.equal(hostToShow('https://xn--pypal-4ve.com/', 'p\u0430ypal.com'), 'xn--pypal-4ve.com')
  assert.equal(hostToShow('mailto:a@b.example', 'write to us'), 'a@b.example')
})

test('signs that turn text around are seen', () => {
  assert.equal(withVisibleControls('a\u202eb\u2066'), 'a[U+202E]b[U+2066]')
})

test('text that would keep the parser busy is shown as it was written, and ordinary text is not', () => {
  const table = `| ${'a | '.repeat(60)}\n|${'---|'.repeat(60)}\n`
  for (const text of [
    '# Hi',
    table,
    `${'-'.repeat(300)}\n`,
    `Rule\n${'*'.repeat(80)}`,
    '  - a\n    - b',
    'x'.repeat(40_000),
  ])
    assert.equal(isDrawable(text), true, text.slice(0, 50))
  for (const text of [
    '&'.repeat(100),
    '|a'.repeat(300),
    '<a '.repeat(7_000),
    '>'.repeat(500),
    '['.repeat(500),
    '> '.repeat(50),
    '- '.repeat(50),
    '*a _b '.repeat(9_000),
    `${' '.repeat(90)}- x`,
    'x'.repeat(60_000),
  ])
    assert.equal(isDrawable(text), false, text.slice(0, 50))
})
