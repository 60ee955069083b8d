import assert from 'node:assert/strict'
import { test } from 'node:test'
import { safeNext } from './safe-next.ts'

test('after signing in one stays on this console, whatever the link says', () => {
  for (const hostile of [
    undefined,
    '',
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/\n//evil.example',
    '/x/..//evil.example',
    'javascript:alert(1)',
    'evil',
  ]) {
    assert.equal(safeNext(hostile), '/', JSON.stringify(hostile))
  }
})

test('a path of the console is kept, with its filters', () => {
  assert.equal(safeNext('/projects/1/calls?status=500#top'), '/projects/1/calls?status=500#top')
})
