import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mayActAs, type Role } from '../../page.ts'
import { mayMakePair, obstacleOf } from './obstacle.ts'

test('a pair is made by a developer, for a verified domain of an activated account', () => {
  const day = '2026-03-15T00:00:00.000Z'
  const project = (role: Role, activatedAt: string | null, domainVerifiedAt: string | null) => ({
    may: (needed: Role) => mayActAs(role, needed),
    publisher: { activatedAt },
    domainVerifiedAt,
  })
  for (const [role, activatedAt, verifiedAt, obstacle, may] of [
    ['developer', day, day, undefined, true],
    ['viewer', day, day, undefined, false],
    ['developer', null, day, 'account', false],
    ['owner', null, null, 'account', false],
    ['developer', day, null, 'domain', false],
  ] as const) {
    const asked = project(role, activatedAt, verifiedAt)
    assert.deepEqual([obstacleOf(asked), mayMakePair(asked)], [obstacle, may], `${role} ${activatedAt} ${verifiedAt}`)
  }
})
