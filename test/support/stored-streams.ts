/** Replays stored provider streams through an adapter's reader, however their bytes are cut and their lines end. */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { UpstreamError, type UpstreamErrorKind } from '../../src/providers/provider.ts'
import { createEventSplitter } from '../../src/providers/exchange/event-splitter.ts'
import type { Chunk } from '../../src/rules/calls/chunk.ts'

export interface StoredStreams {
  /** Below test/fixtures. The stored bytes end their lines in LF; the other variants are made from them. */
  folder: string
  /** A reader that learns only from the end of the body that an answer is whole gives out its last chunks there. */
  createReader(): { read(data: string): Chunk[]; end(): readonly Chunk[] }
  /** The meaning of each stored stream, without anything reported while the answer still ran. */
  expected: Record<string, readonly Chunk[]>
  /** How those streams fail, after their chunks, that do. */
  failures?: Record<string, UpstreamErrorKind>
  /** From where on nothing of the answer is missing; without it, where the last event ends. */
  endOf?(bytes: Buffer): number
}

interface Outcome {
  chunks: readonly Chunk[]
  failed: UpstreamErrorKind | undefined
}

export function testStoredStreams(streams: StoredStreams): void {
  const folder = join(import.meta.dirname, '../fixtures', streams.folder)

  test('every stored stream has its expected meaning here', () => {
    const stored = readdirSync(folder).map((file) => file.replace(/\.sse$/, ''))
    assert.deepEqual(stored.toSorted(), Object.keys(streams.expected).toSorted())
  })

  for (const [name, chunks] of Object.entries(streams.expected)) {
    const variants = variantsOf(readFileSync(join(folder, `${name}.sse`), 'utf8'))
    testStream(streams, name, variants, { chunks, failed: streams.failures?.[name] })
  }
}

function testStream(streams: StoredStreams, name: string, variants: Map<string, Buffer>, expected: Outcome): void {
  for (const [variant, bytes] of variants) {
    test(`${name}.sse with ${variant} is the same answer at each of its ${bytes.length} cuts`, async () => {
      assert.deepEqual(await outcomeOf(streams, [bytes]), expected)
      for (let at = 1; at < bytes.length; at++) {
        const seen = await outcomeOf(streams, [bytes.subarray(0, at), bytes.subarray(at)])
        assert.deepEqual(seen, expected, `cut at byte ${at}`)
      }
    })
  }

  test(`${name}.sse is the same answer in any pieces`, async () => {
    const cuts = fc.array(fc.nat(), { maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...variants.values()), cuts, async (bytes, places) => {
        const ends = [...places.map((place) => place % bytes.length), bytes.length].toSorted((a, b) => a - b)
        const pieces = ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end))
        assert.deepEqual(await outcomeOf(streams, pieces), expected)
      }),
      { numRuns: 50 },
    )
    for (const bytes of variants.values()) {
      const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
      assert.deepEqual(await outcomeOf(streams, single), expected, 'one byte at a time')
    }
  })

  test(`${name}.sse that ends anywhere before its end is an error, never a short answer`, async () => {
    const bytes = variants.get('LF') ?? assert.fail()
    // The blank line after the last event may be missing.
    const end = streams.endOf?.(bytes) ?? Buffer.byteLength(bytes.toString('utf8').trimEnd())
    for (let at = 0; at < end; at += 1) {
      const { failed } = await outcomeOf(streams, [bytes.subarray(0, at)])
      assert.equal(failed, 'truncated', `ended at byte ${at}`)
    }
    // After it nothing of the answer is missing, at most what it came to.
    const contentIn = ({ chunks, failed }: Outcome) => ({
      failed,
      chunks: chunks.filter(({ type }) => type !== 'usage'),
    })
    for (let at = end; at <= bytes.length; at += 1) {
      const outcome = await outcomeOf(streams, [bytes.subarray(0, at)])
      assert.deepEqual(contentIn(outcome), contentIn(expected), `ended at byte ${at}`)
    }
    assert.deepEqual(await outcomeOf(streams, [bytes]), expected)
  })
}

/** Through the same code as a real answer: bytes to events, events to chunks, and a complaint if the end is missing. */
async function outcomeOf(streams: StoredStreams, pieces: readonly Buffer[]): Promise<Outcome> {
  const reader = streams.createReader()
  const chunks: Chunk[] = []
  try {
    for (const data of eventsIn(pieces)) chunks.push(...reader.read(data).filter(isOfTheAnswer))
    chunks.push(...reader.end())
    return { chunks, failed: undefined }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return { chunks, failed: error.kind }
  }
}

function isOfTheAnswer(chunk: Chunk): boolean {
  return chunk.type !== 'usage' || !chunk.soFar
}

function eventsIn(pieces: readonly Buffer[]): string[] {
  const splitter = createEventSplitter()
  const events: string[] = []
  for (const piece of pieces) splitter.split(piece, events)
  splitter.splitRest(events)
  return events
}

function variantsOf(stored: string): Map<string, Buffer> {
  assert.ok(!stored.includes('\r'), 'streams are stored with LF')
  return new Map([
    ['LF', Buffer.from(stored)],
    ['CRLF', Buffer.from(stored.replaceAll('\n', '\r\n'))],
    ['CR', Buffer.from(stored.replaceAll('\n', '\r'))],
    ['LF after a byte order mark', Buffer.from(`\uFEFF${stored}`)],
    ['CRLF after a byte order mark', Buffer.from(`\uFEFF${stored.replaceAll('\n', '\r\n')}`)],
  ])
}
