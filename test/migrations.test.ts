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

/** Earlier migrations were released without saying so. */
const FIRST_THAT_SAYS_SO = '0024'

test('a migration that takes away what older programs use says which is the oldest that works with it', () => {
  const silent = readdirSync(FOLDER).filter((name) => {
    if (!name.endsWith('.sql') || name < FIRST_THAT_SAYS_SO) return false
    const text = readFileSync(new URL(name, FOLDER), 'utf8')
    return /\b(?:drop (?:column|table|view)|rename)\b/i.test(text) && !/^-- Oldest program: \d{4}$/m.test(text)
  })
  assert.deepEqual(silent, [], 'begin it with "-- Oldest program: 0024", the newest migration of that program')
})

/** It is dropped in its file then, in one transaction with what takes its place and with those who call it. */
test('no migration drops a function that functions/ still has: the version before calls it until the last one', () => {
  const files = new Set(readdirSync(new URL('../functions/', import.meta.url)))
  const early = readdirSync(FOLDER).flatMap((name) => {
    if (!name.endsWith('.sql') || name < FIRST_THAT_SAYS_SO) return []
    const text = readFileSync(new URL(name, FOLDER), 'utf8')
    const dropped = text.matchAll(/\bdrop (?:function|routine)(?: if exists)? (?:public\.)?(\w+)/gi)
    return [...dropped].filter(([, each]) => files.has(`${each}.sql`)).map(([, each]) => `${name}: ${each}`)
  })
  assert.deepEqual(early, [])
})
