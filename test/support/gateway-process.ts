import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** A gateway in a process of its own, as it is in production. */
export interface GatewayProcess {
  url: string
  kill(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>
}

export async function startGatewayProcess(env: Record<string, string>): Promise<GatewayProcess> {
  const main = join(import.meta.dirname, '../../src/main.ts')
  const child = spawn(process.execPath, [main, 'serve', 'gateway'], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text))
  // All of its log is read, also later: a process whose log nobody reads comes to a halt.
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      const said = JSON.parse(line) as { url?: string }
      if (said.url !== undefined) resolve(said.url)
    })
    child.on('exit', () => reject(new Error(`the gateway did not start: ${complaint}`)))
  })
  return {
    url,
    async kill(signal = 'SIGKILL') {
      child.kill(signal)
      await exited
    },
  }
}
