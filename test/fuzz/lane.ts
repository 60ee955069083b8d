/**
 * One process of the fuzzer: some parts, one after the other. What each came to is a message to whoever started it, so that a
 * process that dies has said what came before.
 */
import { runPart, textOf, type Part, type PartName, type PartResult, type Range } from './part.ts'

export interface LaneOrder extends Range {
  part: PartName
}

/** Loaded when it is their turn: each process needs some of them. */
const CREATE: Record<PartName, () => Promise<Part>> = {
  http: async () => (await import('./http.ts')).createHttpPart(),
  tcp: async () => (await import('./tcp.ts')).createTcpPart(),
  provider: async () => (await import('./provider.ts')).createProviderPart(),
  feeds: async () => (await import('./feeds.ts')).createFeedsPart(),
  config: async () => (await import('./config.ts')).createConfigPart(),
  parsers: async () => (await import('./parsers.ts')).createParsersPart(),
}

process.once('message', (orders: LaneOrder[]) => {
  void (async () => {
    for (const order of orders) process.send?.(await carryOut(order))
    process.disconnect()
    // Work that still waits for a peer that is gone must not hold up the verdict.
    process.exit()
  })()
})

async function carryOut({ part: name, ...range }: LaneOrder): Promise<PartResult> {
  try {
    const part = await CREATE[name]()
    try {
      return await runPart(name, part, range)
    } finally {
      await part.close()
    }
  } catch (error) {
    const failure = { part: name, n: undefined, complaint: `it cannot be run: ${textOf(error)}`, shown: '' }
    return { part: name, inputs: 0, seconds: 0, cpuSeconds: 0, endings: {}, failures: [failure] }
  }
}
