/** The other side of embedder-thread.ts. */
import assert from 'node:assert/strict'
import { parentPort, workerData } from 'node:worker_threads'
import type { ThreadQuestion, ThreadReply } from './embedder-thread.ts'
import { EmbedderUnavailable, openEmbedder, type Embedder } from './embedder.ts'

const port = parentPort ?? assert.fail('this file is for a thread')
const say = (reply: ThreadReply) => port.postMessage(reply)

async function answer(embedder: Embedder, question: ThreadQuestion): Promise<void> {
  if (question === 'close') {
    await embedder.close()
    return port.close()
  }
  const { id, texts } = question
  try {
    say({ id, vectors: await embedder.embed(texts) })
  } catch (error) {
    // By its name alone: its text may quote what somebody said.
    say({ id, error: error instanceof Error ? error.name : 'unknown' })
  }
}

try {
  const embedder = await openEmbedder({ cacheDir: (workerData as { cacheDir: string }).cacheDir })
  say({ modelId: embedder.modelId })
  port.on('message', (question: ThreadQuestion) => void answer(embedder, question))
} catch (error) {
  if (!(error instanceof EmbedderUnavailable)) throw error
  say({ unavailable: error.message })
}
