import assert from 'node:assert/strict'
import { createConsoleServer } from '../../src/console/server.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics } from '../../src/metrics.ts'
import type { SafetyProof } from '../../src/rules/recommendations/monetization.ts'
import { ORIGIN, type ConsoleWorld } from './console.ts'
import { openTestStore } from './database.ts'

/**
 * Another console of the same installation, for which the safety bench has shown this: whether the committed gates are
 * proven is not for tests of the console to say.
 */
export async function openConsoleWith(
  proof: SafetyProof,
  { env, secrets, url }: ConsoleWorld,
  matcherUrl = 'http://127.0.0.1:9',
  log = createLog('silent'),
): Promise<{ url: string; close(): Promise<void> }> {
  const store = openTestStore({
    url: env.PARLEY_CONSOLE_DATABASE_URL ?? '',
    tenantUrl: env.PARLEY_TENANT_DATABASE_URL,
    applicationName: 'parley proven console',
  })
  const app = createConsoleServer({
    trustedProxies: ['127.0.0.1'],
    db: store.db,
    tenants: store.tenants,
    log,
    metrics: createMetrics(),
    secrets,
    secretVersions: [1],
    installation: {
      consoleUrl: ORIGIN,
      gatewayUrl: 'https://gateway.example.com',
      gatewayInternalUrl: url,
      cell: '00',
      canPay: false,
      requiresApproval: false,
      trialCredit: 0n,
      sandboxDomain: undefined,
      publicPages: { figures: false, status: false, providers: false },
    },
    checkDomain: () => assert.fail('no domain is checked here'),
    fetchFeed: () => assert.fail('no feed is fetched here'),
    matcherUrl,
    webhookSecret: undefined,
    safetyProof: () => proof,
  })
  return {
    url: await app.listen({ host: '127.0.0.1', port: 0 }),
    async close() {
      await app.close()
      await store.close()
    },
  }
}
