import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { createBlackHole, refusedPort } from './unreachable.ts'

function outcomeOf(port: number, withinMs: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    function end(outcome: string): void {
      clearTimeout(timer)
      socket.destroy()
      resolve(outcome)
    }
    const timer = setTimeout(end, withinMs, 'hangs')
    socket.once('connect', () => end('connected'))
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? ''))
  })
}

test('a refused port refuses', async () => {
  assert.equal(await outcomeOf(await refusedPort(), 1000), 'ECONNREFUSED')
})

test('connecting to a black hole neither succeeds nor fails, however many try, until it is closed', async () => {
  const hole = await createBlackHole()
  const outcomes = await Promise.all(Array.from({ length: 5 }, () => outcomeOf(hole.port, 250)))
  assert.deepEqual(outcomes, ['hangs', 'hangs', 'hangs', 'hangs', 'hangs'])
  await hole.close()
  assert.equal(await outcomeOf(hole.port, 1000), 'ECONNREFUSED')
})
