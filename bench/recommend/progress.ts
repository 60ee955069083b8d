/** How far a long piece of work is, on stderr, once in a few seconds: what is measured stays alone on stdout. */
export interface Progress {
  add(count?: number): void
  end(): void
}

const EVERY_MS = 5_000

export function createProgress(what: string, total: number): Progress {
  const startedMs = performance.now()
  let saidMs = startedMs
  let done = 0
  return {
    add(count = 1) {
      done += count
      if (performance.now() - saidMs < EVERY_MS) return
      saidMs = performance.now()
      console.error(`  ${what}: ${done} of ${total}, ${Math.round((saidMs - startedMs) / 1_000)} s`)
    },
    end() {
      const tookMs = performance.now() - startedMs
      if (tookMs > EVERY_MS) console.error(`  ${what}: ${total} in ${Math.round(tookMs / 1_000)} s`)
    },
  }
}
