import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Embedder } from './embedder.ts'
import { openLasting } from './lasting-embedder.ts'

interface Opened extends Embedder {
  end(): void
  isClosed: boolean
}

function createOpener() {
  const opened: Opened[] = []
  const failures: Error[] = []
  async function open(): Promise<Embedder> {
    const failure = failures.shift()
    if (failure) throw failure
    const { promise: ended, resolve } = Promise.withResolvers<Error>()
    const vector = new Float32Array([opened.length])
    let end: Error | undefined
    const embedder: Opened = {
      modelId: 'fake',
      ended,
      isClosed: false,
      embed: async (texts) => (end ? Promise.reject(end) : texts.map(() => vector)),
      end() {
        end = new Error('out of memory')
        resolve(end)
      },
      async close() {
        embedder.isClosed = true
        resolve(new Error('closed'))
      },
    }
    opened.push(embedder)
    return embedder
  }
  return { open, opened, failures }
}

test('an embedder that ends by itself is opened again, however many attempts that takes, and questions fail in between', async () => {
  const { open, opened, failures } = createOpener()
  const told: string[] = []
  const lasting = await openLasting(open, {
    onEnded: ({ message }) => void told.push(message),
    onOpenedAgain: () => void told.push('opened'),
    retryAfterMs: 20,
  })
  assert.deepEqual(await lasting.embed(['text']), [new Float32Array([0])])
  failures.push(new Error('no memory yet'))
  opened[0]?.end()
  await assert.rejects(lasting.embed(['text']), /out of memory/)
  while (told.at(-1) !== 'opened') await sleep(5)
  assert.deepEqual(told, ['out of memory', 'no memory yet', 'opened'])
  assert.deepEqual(await lasting.embed(['text']), [new Float32Array([1])])
  opened[1]?.end()
  while (told.length < 5) await sleep(5)
  assert.deepEqual(await lasting.embed(['text']), [new Float32Array([2])])
  await lasting.close()
  assert.ok(opened.every(({ isClosed }) => isClosed))
  assert.equal(told.length, 5, 'closing is no end by itself')
})

test('an embedder that is closed while another one is awaited is not opened again', async () => {
  const { open, opened } = createOpener()
  const lasting = await openLasting(open, {
    onEnded() {},
    onOpenedAgain: () => assert.fail('opened'),
    retryAfterMs: 10_000,
  })
  opened[0]?.end()
  await sleep(10)
  await lasting.close()
  assert.equal(opened.length, 1)
})

test('an embedder that cannot be opened the first time says why', async () => {
  const { open, failures } = createOpener()
  failures.push(new Error('The weights are missing.'))
  await assert.rejects(openLasting(open, { onEnded() {}, onOpenedAgain() {} }), /weights are missing/)
})
