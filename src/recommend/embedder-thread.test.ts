import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { cosine } from '../rules/vectors.ts'
import { EmbedderUnavailable, openEmbedder } from './embedding/embedder.ts'
import { openEmbedderThread } from './embedder-thread.ts'

let directory: string
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'parley-thread-'))
})
after(() => rm(directory, { recursive: true }))

test('a thread gives the same vectors, answers many at once in order, and ends with its questions', async () => {
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
  const unanswered = thread.embed([texts.join(' ').repeat(20)])
  await thread.close()
  await assert.rejects(unanswered)
  await assert.rejects(thread.embed(['again']))
})

test('what is missing is said as it would be without a thread', async () => {
  const path = join(directory, 'a file')
  await writeFile(path, '')
  await assert.rejects(openEmbedderThread(path), EmbedderUnavailable)
})
