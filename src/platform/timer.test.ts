import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createWatchdog } from './timer.ts'

/** Time that passes only when told to, so that a busy machine changes nothing. */
function stopClock(t: TestContext) {
  let nowMs = 1_000
  t.mock.timers.enable({ apis: ['setTimeout'] })
  t.mock.method(performance, 'now', () => nowMs)
  return {
    pass(ms: number): void {
      for (let i = 0; i < ms; i++) {
        nowMs++
        t.mock.timers.tick(1)
      }
    },
    /** Like a process that was paused: time passes, and only then the timers are looked at. */
    pause(ms: number): void {
      nowMs += ms
      t.mock.timers.tick(ms)
    },
  }
}

function watch(ms: number) {
  const watched = { expiries: 0, watchdog: createWatchdog(ms, () => watched.expiries++) }
  return watched
}

test('silence expires once, after its time and not before', (t) => {
  const clock = stopClock(t)
  const watched = watch(30)
  clock.pass(28)
  assert.equal(watched.expiries, 0)
  clock.pass(3)
  assert.equal(watched.expiries, 1)
  clock.pass(100)
  assert.equal(watched.expiries, 1)
})

test('a watchdog that is restarted in time never expires, and expires after the last restart', (t) => {
  const clock = stopClock(t)
  const watched = watch(60)
  for (let i = 0; i < 100; i++) {
    clock.pass(50)
    watched.watchdog.restart()
  }
  clock.pass(58)
  assert.equal(watched.expiries, 0)
  clock.pass(3)
  assert.equal(watched.expiries, 1)
})

test('a restart may change the length, to shorter and to longer, and keeps it', (t) => {
  const clock = stopClock(t)
  const shortened = watch(10_000)
  shortened.watchdog.restart(20)
  const lengthened = watch(20)
  lengthened.watchdog.restart(200)
  clock.pass(25)
  assert.deepEqual([shortened.expiries, lengthened.expiries], [1, 0])
  lengthened.watchdog.restart()
  clock.pass(195)
  assert.equal(lengthened.expiries, 0)
  clock.pass(10)
  assert.equal(lengthened.expiries, 1)
})

test('a stopped watchdog never expires', (t) => {
  const clock = stopClock(t)
  const watched = watch(20)
  clock.pass(10)
  watched.watchdog.stop()
  clock.pass(100)
  assert.equal(watched.expiries, 0)
})

test('restarting sets no timer, so that it can be done for every chunk of every stream', (t) => {
  stopClock(t)
  const timers = t.mock.method(globalThis, 'setTimeout')
  const watched = watch(10_000)
  for (let i = 0; i < 1_000; i++) watched.watchdog.restart()
  assert.equal(timers.mock.callCount(), 1)
})

test('an expiry that comes late, after a pause of the process, gets one second of grace', (t) => {
  const clock = stopClock(t)
  const watched = watch(50)
  clock.pause(700)
  assert.equal(watched.expiries, 0)
  clock.pass(998)
  assert.equal(watched.expiries, 0)
  clock.pass(3)
  assert.equal(watched.expiries, 1)
})

test('what is read within the grace counts: the wait starts anew', (t) => {
  const clock = stopClock(t)
  const watched = watch(2_000)
  clock.pause(3_000)
  clock.pass(10)
  watched.watchdog.restart()
  clock.pass(1_998)
  assert.equal(watched.expiries, 0)
  clock.pass(3)
  assert.equal(watched.expiries, 1)
})

test('a delay that is only ordinary lateness gets no grace', (t) => {
  const clock = stopClock(t)
  const watched = watch(50)
  clock.pause(450)
  assert.equal(watched.expiries, 1)
})

test('a real stall of the event loop does not expire what could be read right after it', async () => {
  const watched = watch(50)
  const untilMs = performance.now() + 700
  while (performance.now() < untilMs);
  // Timers go first when the loop turns again, and only then sockets.
  await sleep(1)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(watched.expiries, 0)
  watched.watchdog.stop()
})

test('what is left of a wait is left when it goes on, however long the pause was', (t) => {
  const clock = stopClock(t)
  const watched = watch(50)
  clock.pass(30)
  watched.watchdog.pause()
  clock.pass(10_000)
  assert.equal(watched.expiries, 0, 'nothing is waited for')
  watched.watchdog.resume()
  clock.pass(18)
  assert.equal(watched.expiries, 0)
  clock.pass(3)
  assert.equal(watched.expiries, 1)
})

test('pauses between chunks take nothing from a wait, and add nothing to it', (t) => {
  const clock = stopClock(t)
  const watched = watch(50)
  for (let i = 0; i < 4; i++) {
    clock.pass(10)
    watched.watchdog.pause()
    clock.pass(100)
    watched.watchdog.resume()
  }
  clock.pass(8)
  assert.equal(watched.expiries, 0)
  clock.pass(3)
  assert.equal(watched.expiries, 1)
})
