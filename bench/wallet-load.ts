/** One process of the wallet benchmark: keeps N calls in flight, each a hold and then its settle, through the ledger. */
import { uuidv7 } from '../src/platform/uuid.ts'
import { NO_USAGE } from '../src/rules/billing/usage.ts'
import { openStore } from '../src/store/database.ts'
import { openLedger } from '../src/store/billing/ledger/open-ledger.ts'
import type { HoldRequest } from '../src/store/billing/ledger/ledger-items.ts'
import type { Settlement } from '../src/store/billing/settlement.ts'

export interface Wallet {
  projectId: string
  keyPairId: string
  /** The end users that its calls are for, in turn. Empty: its calls are for none. */
  endUserIds: readonly string[]
}

export const CHARGE = 1_500_000n

let asked = 0

export function holdRequest({ projectId, keyPairId, endUserIds }: Wallet, callId: string): HoldRequest {
  const wanted = { want: 2_000_000n, min: 1_000n, hasIdempotencyKey: false }
  const endUserId = endUserIds[asked++ % endUserIds.length]
  return { callId, projectId, keyPairId, endUserId, modelId: 'bench', priceVersion: 1n, ...wanted }
}

export function settlement({ projectId }: Wallet, callId: string): Settlement {
  return {
    callId,
    projectId,
    charge: CHARGE,
    worth: CHARGE,
    usage: { ...NO_USAGE, input: 812, output: 240 },
    usageSource: 'reported',
    outcome: 'completed',
    deploymentId: projectId,
    requestId: callId,
    streamed: true,
    status: 200,
    finishReason: 'stop',
    firstTokenMs: 210,
    durationMs: 2_400,
    attempts: [{ deployment: projectId, provider: 'bench', ms: 200, failed: undefined }],
    hasIdempotencyKey: false,
  }
}

async function run(url: string, wallet: Wallet, seconds: number, concurrency: number): Promise<void> {
  const store = openStore({ url, applicationName: 'parley bench load' })
  let batches = 0
  let items = 0
  const onBatch = (count: number) => {
    batches += 1
    items += count
  }
  const ledger = openLedger(store, { gatewayId: uuidv7(), onBatch })
  const waits: number[] = []
  let calls = 0
  const startedMs = performance.now()
  const endMs = startedMs + seconds * 1000
  const cpuBefore = process.cpuUsage()
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (performance.now() < endMs) {
        const id = uuidv7()
        const askedMs = performance.now()
        await ledger.hold(holdRequest(wallet, id))
        waits.push(performance.now() - askedMs)
        await ledger.settle(settlement(wallet, id))
        calls += 1
      }
    }),
  )
  const took = (performance.now() - startedMs) / 1000
  const cpu = process.cpuUsage(cpuBefore)
  const sorted = waits.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
  const cpuSeconds = (cpu.user + cpu.system) / 1e6
  process.send?.({ calls, seconds: took, batches, items, p50: at(0.5), p99: at(0.99), cpuSeconds })
  await store.close()
  process.disconnect()
}

const [url, wallet, seconds, concurrency] = process.argv.slice(2)
if (process.send && url && wallet) await run(url, JSON.parse(wallet) as Wallet, Number(seconds), Number(concurrency))
