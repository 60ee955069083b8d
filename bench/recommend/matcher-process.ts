/**
 * A matcher in a process of its own whose gates count as proven: how long a reply takes does not depend on it, and is
 * measured also while a proof is missing. Started by first-token.ts and live-matcher.ts.
 */
import { createMatcher } from '../../src/matcher/matcher.ts'
import { createMatcherServer } from '../../src/matcher/server.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { matcherTokensOf } from '../../src/recommend/wire.ts'
import { openStore } from '../../src/store/database.ts'

/** The order that its starter passes to it, as JSON in the first argument. */
export interface Order {
  databaseUrl: string
  secret: string
  port: number
  directory: string
}

const { databaseUrl, secret, port, directory } = JSON.parse(process.argv[2] ?? '{}') as Order
const log = createLog('warn', process.stderr)
const store = openStore({ url: databaseUrl, applicationName: 'parley bench matcher' })
const secrets = createSecrets([{ version: 1, bytes: Buffer.from(secret, 'base64') }])
const matcher = createMatcher({
  db: store.db,
  log,
  metrics: createMetrics(),
  directory,
  proof: { isProven: true, prompts: 0, shown: 0 },
})
const app = createMatcherServer({ matcher, tokens: matcherTokensOf(secrets), log })
await app.listen({ host: '127.0.0.1', port })
matcher.start()
process.once('SIGTERM', () => {
  void app
    .close()
    .then(() => matcher.stop())
    .then(() => store.close())
})
