/** The other side of embedder-thread.ts. */
import assert from 'node:assert/strict'
import { constants, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import type { ThreadData, ThreadQuestion, ThreadReply } from './embedder-thread.ts'
import { EmbedderUnavailable, openEmbedder } from './embedder.ts'

const port = parentPort ?? assert.fail('this file is for a thread')
const say = (reply: ThreadReply) => port.postMessage(reply)

const { cacheDir, isBackground } = workerData as ThreadData
// Linux has a priority for each thread; elsewhere this would slow down the whole process.
if (isBackground && process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
const closing = new AbortController()
const opening = openEmbedder({ cacheDir, onPreparing: () => say('preparing'), signal: closing.signal })

// Also while it opens: to build the encoder takes seconds, and whoever stops does not wait for it.
port.on('message', (question: ThreadQuestion) => {
  if (question === 'close') closing.abort()
  else void answer(question)
})
closing.signal.addEventListener('abort', () => void close())

async function answer({ id, texts }: Exclude<ThreadQuestion, 'close'>): Promise<void> {
  try {
    const embedder = await opening
    say({ id, vectors: await embedder.embed(texts) })
  } catch (error) {
    // By its name alone: its text may quote what somebody said.
    say({ id, error: error instanceof Error ? error.name : 'unknown' })
  }
}

async function close(): Promise<void> {
  await opening.then(
    (embedder) => embedder.close(),
    () => {},
  )
  port.close()
}

try {
  say({ modelId: (await opening).modelId })
} catch (error) {
  if (!(error instanceof EmbedderUnavailable)) throw error
  say({ unavailable: error.message })
  port.close()
}
