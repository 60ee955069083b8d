import { createRequire } from 'node:module'

export type Engine = Awaited<ReturnType<typeof load>>

/**
 * The search engine, loaded only where it is used: 155 MB of native code that gateways have no use for.
 *
 * Its threads are counted from the cores. With two cores or less the word index takes all of them for producers, which
 * then wait for consumers that find none: at 1,000,000 offers the build never ended (lancedb issue 3568, mended after
 * 0.33). Two producers and eight threads always leave some. They are read once, so they are set before it is loaded.
 */
async function load() {
  process.env.LANCE_CPU_THREADS = '8'
  process.env.LANCE_FTS_NUM_SHARDS = '2'
  const lancedb = await import('@lancedb/lancedb')
  // Not by import: that would be a second copy, whose tables the engine does not take for its own and copies whole.
  const arrow = createRequire(import.meta.resolve('@lancedb/lancedb'))('apache-arrow') as typeof import('apache-arrow')
  return { lancedb, arrow }
}

let loaded: Promise<Engine> | undefined

export function loadEngine(): Promise<Engine> {
  return (loaded ??= load())
}
