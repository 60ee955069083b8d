/**
 * Runs once around a whole run (`node --test --test-global-setup=test/support/global-setup.ts`): the test processes
 * inherit the server's address and find the template already built.
 */
import type { PostgresServer } from '../../scripts/postgres.ts'
import { buildTemplate, openTestPostgres } from './database.ts'

let server: PostgresServer | undefined

export async function globalSetup(): Promise<void> {
  server = await openTestPostgres()
  process.env.PARLEY_TEST_POSTGRES_URL = server.url
  try {
    await buildTemplate(server.url)
  } catch (error) {
    // Node does not tear down what failed to set up.
    await server.stop()
    throw error
  }
}

export async function globalTeardown(): Promise<void> {
  await server?.stop()
}
