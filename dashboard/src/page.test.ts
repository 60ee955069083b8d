import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf, mayActAs, patternOf, type Page, type Role } from './page.ts'

test('each role may do what those after it may, and no more', () => {
  const roles: Role[] = ['owner', 'admin', 'developer', 'viewer']
  const allowed = roles.map((role) => roles.filter((needed) => mayActAs(role, needed)))
  assert.deepEqual(allowed, [roles, roles.slice(1), roles.slice(2), roles.slice(3)])
})

test('the address of a page names what it is about', () => {
  const page = (scope: Page['scope'], path: string) => ({ scope, path }) as Page
  const place = { project: 'p1', publisher: 'a1' }
  assert.equal(patternOf(page('project', 'calls/$call')), '/projects/$project/calls/$call')
  assert.equal(addressOf(page('project', 'keys'), place), '/projects/p1/keys')
  assert.equal(addressOf(page('project', ''), place), '/projects/p1')
  assert.equal(addressOf(page('publisher', 'team'), place), '/publishers/a1/team')
  assert.equal(addressOf(page('account', ''), place), '/account')
})
