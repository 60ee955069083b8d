import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from '../../metrics.ts'
import { ParleyError } from '../../rules/errors.ts'
import { INTAKE_LIMITS } from '../../rules/limits.ts'
import { createIntake } from './intake.ts'
import { createWork } from './work.ts'

test('a network whose keys are refused all the time is refused late; others, and later the same one, at once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let nowMs = 0
  const work = createWork({ accountPercent: 100 })
  const metrics = createMetrics()
  const intake = createIntake({ callsMax: 10, limits: INTAKE_LIMITS, metrics, work, now: () => nowMs })
  const refusal = new ParleyError('keys_invalid')
  const refused = (address: string) => intake.refuseKeys(address, refusal)
  for (let n = 0; n < 100; n++) await assert.rejects(refused('203.0.113.7'), refusal)

  let isLate = false
  const late = assert.rejects(refused('203.0.113.7'), refusal).then(() => (isLate = true))
  await assert.rejects(refused('198.51.100.1'), refusal)
  t.mock.timers.tick(499)
  await new Promise(setImmediate)
  assert.equal(isLate, false)
  t.mock.timers.tick(1)
  await late

  nowMs += 10_000
  await assert.rejects(refused('203.0.113.7'), refusal)
})
