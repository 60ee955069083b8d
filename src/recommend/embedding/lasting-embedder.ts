import { setTimeout as sleep } from 'node:timers/promises'
import { SECOND_MS } from '../../rules/durations.ts'
import type { Embedder } from './embedder.ts'

export interface LastingOptions {
  /** Called when the embedder has ended by itself, and again for each attempt to open another one that failed. */
  onEnded(error: Error): void
  onOpenedAgain(): void
  retryAfterMs?: number | undefined
}

const RETRY_AFTER_MS = 5 * SECOND_MS

/**
 * An embedder that is opened again when it ends by itself. A thread that runs out of memory once would otherwise end all
 * recommendations until someone restarts the process. Questions fail until another one is open.
 */
export async function openLasting(
  open: () => Promise<Embedder>,
  { onEnded, onOpenedAgain, retryAfterMs = RETRY_AFTER_MS }: LastingOptions,
): Promise<Embedder> {
  const closing = new AbortController()
  const closed = new Promise<undefined>((resolve) => closing.signal.addEventListener('abort', () => resolve(undefined)))
  let embedder = await open()
  let reopening = reopenWhenEnded()

  async function reopenWhenEnded(): Promise<void> {
    const error = await Promise.race([embedder.ended ?? closed, closed])
    if (error === undefined) return
    onEnded(error)
    await embedder.close()
    while (!closing.signal.aborted) {
      await sleep(retryAfterMs, undefined, { signal: closing.signal }).catch(() => {})
      if (closing.signal.aborted) return
      try {
        embedder = await open()
        onOpenedAgain()
        reopening = reopenWhenEnded()
        return
      } catch (failure) {
        onEnded(failure instanceof Error ? failure : new Error(String(failure)))
      }
    }
  }

  return {
    modelId: embedder.modelId,
    embed: (texts) => embedder.embed(texts),
    async close() {
      closing.abort()
      await embedder.close()
      await reopening
    },
  }
}
