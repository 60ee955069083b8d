import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

test('it prints its address when it listens, and SIGTERM ends it', async () => {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url))
  const child = spawn(process.execPath, [main, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const [line]: Buffer[] = await once(child.stdout, 'data')
  const url = /^simulator listening on (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(String(line))?.[1]
  const stats = await fetch(`${url}/_simulator/stats`)
  assert.equal(stats.status, 200)
  child.kill('SIGTERM')
  assert.deepEqual(await exited, [0, null])
})
