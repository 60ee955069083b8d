import type { Embedder } from '../recommend/embedding/embedder.ts'

/** Knows whether a reply is being served, for work that can wait until none is. */
export interface Serving {
  during<T>(work: () => Promise<T>): Promise<T>
  /** Resolves when no reply is served, or when it has waited long enough: a busy day must not keep it waiting for ever. */
  gap(): Promise<void>
}

/** Four texts each time are eight a second where replies leave no gap: 25,000 offers in less than an hour. */
const TEXTS_AT_ONCE = 4
const GAP_WAIT_MS = 500

export function watchServing(gapWaitMs = GAP_WAIT_MS): Serving {
  let served = 0
  const waiting = new Set<() => void>()

  return {
    async during(work) {
      served += 1
      try {
        return await work()
      } finally {
        served -= 1
        if (served === 0) for (const wake of waiting) wake()
      }
    },
    async gap() {
      if (served === 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, gapWaitMs)
      waiting.add(resolve)
      await promise
      clearTimeout(timer)
      waiting.delete(resolve)
    },
  }
}

/**
 * The same embedder for work that gives way, piece by piece. 192 texts of new offers at once, in turns with those of live
 * replies, made nearly every reply of those seconds too late for a recommendation.
 */
export function giveWay(embedder: Embedder, serving: Pick<Serving, 'gap'>): Embedder {
  return {
    modelId: embedder.modelId,
    close: () => embedder.close(),
    async embed(texts) {
      const vectors: Float32Array[] = []
      for (let n = 0; n < texts.length; n += TEXTS_AT_ONCE) {
        await serving.gap()
        vectors.push(...(await embedder.embed(texts.slice(n, n + TEXTS_AT_ONCE))))
      }
      return vectors
    },
  }
}
