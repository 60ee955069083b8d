/** The open-source gateway of Portkey, as published on npm, without its console. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../test/support/free-port.ts'
import { cached } from './cache.ts'
import { runNpm, startServer } from './processes.ts'
import { ANY_KEY, NotHere, type Subject, type Surroundings } from './subject.ts'

export const PORTKEY_VERSION = '1.15.2'

/** Later versions of what it builds on, which its ranges allow, do not start with it. */
const MANIFEST = {
  private: true,
  dependencies: { '@portkey-ai/gateway': PORTKEY_VERSION },
  overrides: { '@hono/node-server': '1.13.8', hono: '4.9.7' },
}

export function portkey({ providerUrl, ending, say }: Surroundings): Subject {
  async function install(folder: string): Promise<void> {
    say(`installing @portkey-ai/gateway ${PORTKEY_VERSION}, once`)
    await writeFile(join(folder, 'package.json'), JSON.stringify(MANIFEST))
    await runNpm(ending, ['install', '--ignore-scripts'], folder).catch((error: unknown) => {
      throw new NotHere(`it cannot be installed (${String(error)})`)
    })
  }

  return {
    name: 'portkey',
    async start() {
      const folder = await cached(`portkey-${PORTKEY_VERSION}`, ending, install)
      const port = await freePort()
      const url = `http://127.0.0.1:${port}`
      const program = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js')
      const command = [process.execPath, program, `--port=${port}`, '--headless']
      const { pid, stop } = await startServer(ending, command, { env: { NODE_ENV: 'production' }, readyUrl: url })
      const headers = {
        ...ANY_KEY,
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `${providerUrl}/v1`,
      }
      return { url, headers, pid, stop }
    },
  }
}
