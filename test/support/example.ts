import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { World } from './world.ts'

/** The examples, as whoever copies them would start them. */

export function exampleFile(path: string): string {
  return new URL(`../../examples/${path}`, import.meta.url).pathname
}

export function exampleEnv({ url, project }: World): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    PARLEY_URL: url,
    PARLEY_PUBLISHABLE_KEY: project.publishableKey,
    PARLEY_SECRET_KEY: project.secretKey,
    PARLEY_MODEL: 'sim-small',
    PORT: '0',
  }
}

/** Starts one that serves, and says where it does. */
export async function startExample(world: World, path: string): Promise<{ url: string; stop(): Promise<void> }> {
  const child = spawn(process.execPath, [exampleFile(path)], {
    env: exampleEnv(world),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stop = async () => {
    child.kill()
    await once(child, 'exit')
  }
  assert.ok(child.stdout)
  for await (const url of createInterface({ input: child.stdout })) return { url, stop }
  throw new Error(`${path} did not start`)
}
