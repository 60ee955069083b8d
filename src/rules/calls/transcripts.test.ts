import assert from 'node:assert/strict'
import { test } from 'node:test'
import { markdownOf, readableOf, textStateOf, titleOf } from './transcripts.ts'

test('whatever was stored becomes readable, and nothing throws', () => {
  const nothing = { parts: [], refusal: null, toolCalls: [], toolCallId: null }
  for (const stored of [null, 1, 'x', [], {}, { content: '' }, { content: null }, { tool_calls: 'x' }])
    assert.deepEqual(readableOf(stored), nothing, JSON.stringify(stored))
  assert.deepEqual(readableOf({ content: [null, { type: 'audio' }, { type: 'text' }], tool_calls: [null] }), {
    ...nothing,
    parts: [
      { kind: 'other', text: 'unknown' },
      { kind: 'other', text: 'audio' },
      { kind: 'text', text: '' },
    ],
    toolCalls: [{ id: '', name: '', arguments: '' }],
  })
})

test('an image is known by its address, never by its bytes', () => {
  const parts = (url: string) => readableOf({ content: [{ type: 'image_url', image_url: { url } }] }).parts
  assert.deepEqual(parts('https://a.example/b.png'), [{ kind: 'image', address: 'https://a.example/b.png' }])
  assert.deepEqual(parts(`DATA:image/png;base64,${'A'.repeat(3_000)}`), [
    { kind: 'image', address: 'data:image/png (3 KB)' },
  ])
  const note = `data:image/png;bytes=5500000;sha256=${'0'.repeat(64)},`
  assert.deepEqual(parts(note), [{ kind: 'image', address: 'data:image/png (5372 KB)' }])
  const [long] = parts(`https://a.example/${'x'.repeat(1_000)}`)
  assert.ok(long?.kind === 'image' && long.address.length <= 301)
})

test('a file or a recording that came with the request is known by its type and its size', () => {
  const parts = (part: object) => readableOf({ content: [part] }).parts
  const note = `bytes=2048;sha256=${'0'.repeat(64)},`
  for (const [part, text] of [
    [{ type: 'file', file: { file_data: `data:application/pdf;${note}` } }, 'file: application/pdf (2 KB)'],
    [{ type: 'input_audio', input_audio: { data: `data:audio/wav;${note}` } }, 'input_audio: audio/wav (2 KB)'],
    // As an older version has kept it.
    [{ type: 'input_audio', input_audio: { data: 'AAAA' } }, 'input_audio'],
  ] as const)
    assert.deepEqual(parts(part), [{ kind: 'other', text }])
})

test('a title is the first line with something in it, without signs that turn or hide text', () => {
  assert.equal(titleOf(null), null)
  assert.equal(titleOf(' \n\u200b\n'), null)
  assert.equal(titleOf('\n  Hello\t there \nmore'), 'Hello there')
  assert.equal(titleOf('a\u202eb\u2066c\ufeff'), 'abc')
  assert.equal(Array.from(titleOf('😀'.repeat(500)) ?? '').length, 120)
})

test('text that is gone says whether it was ever kept', () => {
  assert.equal(textStateOf({ content: {}, expiresAt: null }), 'kept')
  assert.equal(textStateOf({ content: null, expiresAt: null }), 'not_kept')
  assert.equal(textStateOf({ content: null, expiresAt: new Date(0) }), 'expired')
})

test('what a tool was called with cannot end its own fence', () => {
  const content = { tool_calls: [{ function: { name: 'f`', arguments: '````\n# not a heading' } }] }
  const text = markdownOf({ role: 'assistant', content, expiresAt: null, createdAt: new Date(0) })
  assert.match(
    text,
    /^## Assistant\n\n_1970-01-01T00:00:00.000Z_\n\nCalls `f`:\n\n`````json\n````\n# not a heading\n`````\n/,
  )
})
