/** Runs the simulator: `node simulator/main.ts --port 9100`. SIGTERM or SIGINT ends it. */
import { parseArgs } from 'node:util'
import { createSimulator } from './server.ts'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '9100' },
    host: { type: 'string', default: '127.0.0.1' },
    seed: { type: 'string', default: '1' },
  },
})

const simulator = await createSimulator({
  port: Number(values.port),
  host: values.host,
  seed: Number(values.seed),
  hasCaches: true,
})
console.log(`simulator listening on ${simulator.url}`)

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void simulator.close())
