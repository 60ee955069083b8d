import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { cosine } from '../../rules/recommendations/vectors.ts'
import { EmbedderUnavailable, openEmbedder } from './embedder.ts'
import { openEmbedderThread } from './embedder-thread.ts'

let directory: string
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'parley-thread-'))
})
after(() => rm(directory, { recursive: true }))

/** A thread that does this with each question, and ends when it is told to. */
function scriptOf(answer: string): URL {
  return new URL(
    `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', (question) => {
      if (question === 'close') parentPort.close()
      else { ${answer} }
    })
    parentPort.postMessage({ modelId: 'scripted' })`)}`,
  )
}

test('a thread gives the same vectors, answers many at once in order, and none when it is closed', async () => {
  const thread = await openEmbedderThread(directory)
  const here = await openEmbedder({ cacheDir: directory })
  assert.equal(thread.modelId, here.modelId)
  const texts = ['a red shoe', 'a tent for two in the rain', '']
  const [near, far] = await Promise.all([thread.embed(texts), thread.embed(texts.toReversed())])
  const exact = await here.embed(texts)
  for (const [n, vector] of exact.entries()) {
    assert.ok(cosine(vector, near[n] ?? assert.fail()) > 0.9999)
    assert.ok(cosine(vector, far[2 - n] ?? assert.fail()) > 0.9999)
  }
  assert.deepEqual(await thread.embed([]), [])
  await here.close()
  await thread.close()
  await assert.rejects(thread.embed(['again']), /the thread of the embedder has ended/)
})

test('a thread ends with the questions that it has not answered', async () => {
  const thread = await openEmbedderThread(directory, scriptOf(''))
  const unanswered = ['one', 'two'].map((text) =>
    assert.rejects(thread.embed([text]), /the thread of the embedder has ended/),
  )
  await thread.close()
  await Promise.all(unanswered)
  await assert.rejects(thread.embed(['again']), /the thread of the embedder has ended/)
})

test('answers find their questions in whatever order they come, and a failure is that of its own question', async (t) => {
  const thread = await openEmbedderThread(
    directory,
    scriptOf(`
      const [text] = question.texts
      globalThis.first ??= question.id
      if (text === 'first') return
      if (text === 'second') return parentPort.postMessage({ id: question.id, error: 'RangeError' })
      parentPort.postMessage({ id: question.id, vectors: [new Float32Array([3])] })
      parentPort.postMessage({ id: first, vectors: [new Float32Array([1])] })`),
  )
  // Also when something fails here: a thread that is left running would keep the process alive.
  t.after(() => thread.close())
  const [first, second, third] = await Promise.allSettled(
    ['first', 'second', 'third'].map((text) => thread.embed([text])),
  )
  assert.deepEqual(first, { status: 'fulfilled', value: [new Float32Array([1])] })
  assert.ok(second?.status === 'rejected')
  assert.equal((second.reason as Error).message, 'RangeError')
  assert.deepEqual(third, { status: 'fulfilled', value: [new Float32Array([3])] })
})

test('a thread that dies takes its questions with it', async () => {
  const thread = await openEmbedderThread(directory, scriptOf(`throw new Error('out of memory')`))
  await assert.rejects(thread.embed(['text']), /out of memory/)
  await assert.rejects(thread.embed(['again']), /out of memory/)
  await thread.close()
})

test('a thread that is told to end while it builds the encoder ends without building it', async () => {
  const fresh = join(directory, 'fresh')
  const stopping = new AbortController()
  const opening = openEmbedderThread(fresh, undefined, { onPreparing: () => stopping.abort(), signal: stopping.signal })
  await assert.rejects(opening, EmbedderUnavailable)
  assert.deepEqual(await readdir(fresh).catch(() => []), [])
})

test('what is missing is said as it would be without a thread', async () => {
  const path = join(directory, 'a file')
  await writeFile(path, '')
  await assert.rejects(openEmbedderThread(path), EmbedderUnavailable)
})
