import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCredits } from '../src/rules/money.ts'
import { PACINGS } from '../src/rules/recommendations/pacing.ts'
import { plannedForHour, simulateDay } from './pacing/simulated-day.ts'

const BUDGET = parseCredits('1000')

for (const pacing of PACINGS) {
  for (const perSecond of [5, 50]) {
    test(`${pacing}, ${perSecond} answers a second: the day ends within 2 % of its budget, and never above it`, () => {
      const { spent, clicks, unpaid } = simulateDay({ pacing, budgetNanos: BUDGET, perSecond })
      assert.ok(spent <= BUDGET && spent >= (BUDGET * 98n) / 100n, `spent ${spent}`)
      assert.ok(unpaid <= clicks / 20, `${unpaid} of ${clicks} clicks were for nothing`)
    })
  }
}

test('even: every hour is within 10 % of its plan, though it is seven times as busy in the evening', () => {
  for (const seed of [1, 2, 3]) {
    const { spentByHour } = simulateDay({ pacing: 'even', budgetNanos: BUDGET, perSecond: 5, seed })
    for (const [hour, spent] of spentByHour.entries()) {
      const share = Number(spent) / plannedForHour('even', BUDGET, hour)
      assert.ok(share > 0.9 && share < 1.1, `${share} of the plan at ${hour}:00 with seed ${seed}`)
    }
  }
})

test('the three tell themselves apart by what they have spent at noon', () => {
  const noon = PACINGS.map((pacing) => {
    const { spentByHour } = simulateDay({ pacing, budgetNanos: BUDGET, perSecond: 20 })
    return Number(spentByHour.slice(0, 12).reduce((sum, hour) => sum + hour, 0n)) / Number(BUDGET)
  })
  const [even = 0, asap = 0, frontLoaded = 0] = noon
  assert.ok(Math.abs(even - 0.5) < 0.02 && asap > 0.99 && Math.abs(frontLoaded - 0.75) < 0.03, noon.join(', '))
})
