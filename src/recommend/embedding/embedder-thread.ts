import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { EmbedderUnavailable, type Embedder, type EmbedderOptions } from './embedder.ts'

/** Messages from the thread, first about itself and then in answer to every question. */
export type ThreadReply =
  | 'preparing'
  | { modelId: string }
  | { unavailable: string }
  | { id: number; vectors: Float32Array[] }
  | { id: number; error: string }

export type ThreadQuestion = { id: number; texts: readonly string[] } | 'close'

export interface ThreadData {
  cacheDir: string
  /** It runs when nothing else wants the processor. */
  isBackground: boolean
}

type ThreadOptions = Pick<EmbedderOptions, 'onPreparing' | 'signal'> & Partial<Pick<ThreadData, 'isBackground'>>

const SCRIPT = new URL('embedder-worker.ts', import.meta.url)
const CLOSE_WITHIN_MS = 2_000

/**
 * An embedder in a thread of its own. A text of 100 tokens takes 8 ms, which would hold up everything else in the process:
 * the search for words that could run meanwhile, and the matches of others.
 */
export async function openEmbedderThread(
  cacheDir: string,
  script = SCRIPT,
  { onPreparing, signal, isBackground = false }: ThreadOptions = {},
): Promise<Embedder> {
  const worker = new Worker(script, { workerData: { cacheDir, isBackground } satisfies ThreadData })
  const waiting = new Map<number, PromiseWithResolvers<Float32Array[]>>()
  const opened = Promise.withResolvers<string>()
  const ended = Promise.withResolvers<Error>()
  let asked = 0
  let end: Error | undefined

  function endWith(error: Error): void {
    end = error
    opened.reject(error)
    ended.resolve(error)
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }

  worker.on('message', (reply: ThreadReply) => {
    if (reply === 'preparing') return onPreparing?.()
    if ('modelId' in reply) return opened.resolve(reply.modelId)
    if ('unavailable' in reply) return endWith(new EmbedderUnavailable(reply.unavailable))
    const question = waiting.get(reply.id)
    waiting.delete(reply.id)
    if ('vectors' in reply) question?.resolve(reply.vectors)
    else question?.reject(new Error(reply.error))
  })
  worker.on('error', endWith)
  worker.on('exit', () => endWith(end ?? new Error('the thread of the embedder has ended')))

  const close = () => worker.postMessage('close' satisfies ThreadQuestion)
  signal?.addEventListener('abort', close)
  const modelId = await opened.promise.finally(() => signal?.removeEventListener('abort', close))
  return {
    modelId,
    ended: ended.promise,
    embed(texts) {
      if (end) return Promise.reject(end)
      if (texts.length === 0) return Promise.resolve([])
      const question = Promise.withResolvers<Float32Array[]>()
      asked += 1
      waiting.set(asked, question)
      worker.postMessage({ id: asked, texts } satisfies ThreadQuestion)
      return question.promise
    },
    async close() {
      // Native code that is ended in the middle of its work can take the whole process with it: the thread ends by itself.
      const gone = new Promise((resolve) => worker.once('exit', resolve))
      close()
      await Promise.race([end ?? gone, sleep(CLOSE_WITHIN_MS, undefined, { ref: false })])
      await worker.terminate()
    },
  }
}
