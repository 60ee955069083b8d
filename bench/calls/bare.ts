/** A pass-through of about twenty lines, in a process of its own. */
import { join } from 'node:path'
import { freePort } from '../../test/support/free-port.ts'
import { startServer } from './processes.ts'
import { ANY_KEY, type Subject, type Surroundings } from './subject.ts'

export function bare({ providerUrl, ending }: Surroundings): Subject {
  return {
    name: 'bare',
    async start() {
      const port = String(await freePort())
      const url = `http://127.0.0.1:${port}`
      const command = [process.execPath, join(import.meta.dirname, 'bare-server.ts'), port, providerUrl]
      const { pid, stop } = await startServer(ending, command, { readyUrl: `${url}/_simulator/stats` })
      return { url, headers: ANY_KEY, pid, stop }
    },
  }
}
