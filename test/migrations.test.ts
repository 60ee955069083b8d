import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const FOLDER = new URL('../migrations/', import.meta.url)

/**
 * An installation that has applied a migration refuses every version in which its text is another one, comments included:
 * it could neither upgrade nor go back. So what was released stays as it is, down to a path in a comment that has moved.
 */
test('no migration has another text than the one that was released: each is listed in SHA256SUMS, and nothing else is', () => {
  const listed = readFileSync(new URL('SHA256SUMS', FOLDER), 'utf8').trim().split('\n')
  const names = readdirSync(FOLDER)
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
  const there = names.map((name) => {
    const digest = createHash('sha256').update(readFileSync(new URL(name, FOLDER)))
    return `${digest.digest('hex')}  ${name}`
  })
  assert.deepEqual(there, listed)
})
