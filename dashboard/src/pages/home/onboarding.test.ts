import assert from 'node:assert/strict'
import { test } from 'node:test'
import { areAllDone, stepsOf, type Onboarding } from './onboarding.ts'

const FRESH: Onboarding = {
  isActivated: true,
  isDomainVerified: false,
  hasKeyPair: false,
  hasCredit: false,
  call: null,
  isAnswered: false,
  isDismissed: false,
  isSandbox: false,
  hasOwnProject: true,
}
const PAID = { canPay: true }

function idsOf(onboarding: Onboarding): string[] {
  return stepsOf(onboarding, PAID).map(({ id }) => id)
}

test('a project of one’s own asks for a domain and credit, and not for another project', () => {
  assert.deepEqual(idsOf(FRESH), ['account', 'domain', 'keys', 'request', 'credit'])
  assert.equal(
    areAllDone({ ...FRESH, isDomainVerified: true, hasKeyPair: true, hasCredit: true, isAnswered: true }),
    true,
  )
  assert.equal(
    areAllDone({ ...FRESH, isDomainVerified: true, hasKeyPair: true, hasCredit: false, isAnswered: true }),
    false,
  )
})

test('a sandbox asks for neither, and its last step leads to a project of one’s own', () => {
  const sandbox = { ...FRESH, isDomainVerified: true, isSandbox: true, hasOwnProject: false }
  assert.deepEqual(idsOf(sandbox), ['account', 'keys', 'request', 'live'])
  assert.deepEqual(
    stepsOf({ ...sandbox, hasKeyPair: true, isAnswered: true }, PAID).map(({ isDone }) => isDone),
    [true, true, true, false],
  )
  assert.equal(stepsOf(sandbox, PAID).at(-1)?.page, '/new-project')
  assert.equal(areAllDone({ ...sandbox, hasKeyPair: true, isAnswered: true, hasOwnProject: true }), true)
})
