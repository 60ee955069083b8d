import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { numberOccurrences } from './calls/conversations.ts'
import { inlineMediaOf, withoutMedia } from './inline-media.ts'
import type { ContentPart, Message } from './calls/message.ts'

const BYTES = Buffer.from('any bytes at all')
const BASE64 = BYTES.toString('base64')
const SHA256 = createHash('sha256').update(BYTES).digest('hex')

const said = (...content: ContentPart[]): Message => ({ role: 'user', content })
const image = (url: string): ContentPart => ({ type: 'image_url', image_url: { url, detail: 'low' } })

test('what comes inline is kept as its type, its size and its digest, and all else as it was sent', () => {
  const text: ContentPart = { type: 'text', text: 'Look' }
  const note = `bytes=${BYTES.length};sha256=${SHA256},`
  const sent = said(
    text,
    image(`DATA:Image/PNG;base64,${BASE64}`),
    image('https://a.example/b.png'),
    { type: 'file', file: { file_data: `data:application/pdf;base64,${BASE64}`, filename: 'a.pdf' } },
    { type: 'input_audio', input_audio: { data: BASE64, format: 'wav' } },
  )
  assert.deepEqual(
    withoutMedia(sent),
    said(
      text,
      image(`data:image/png;${note}`),
      image('https://a.example/b.png'),
      { type: 'file', file: { file_data: `data:application/pdf;${note}`, filename: 'a.pdf' } },
      { type: 'input_audio', input_audio: { data: `data:audio/wav;${note}`, format: 'wav' } },
    ),
  )
  for (const message of [said(text), { role: 'assistant', content: 'data:image/png;base64,AAAA' }] as Message[])
    assert.deepEqual(withoutMedia(message), message)
})

test('however something inline is written, its note is short', () => {
  const long = 'x'.repeat(100_000)
  for (const url of [
    `data:image/svg+xml,${long}`,
    `data:${long}`,
    `data:image/png;${long}`,
    `data:,${long}`,
    'data:',
  ]) {
    const [part] = withoutMedia(said(image(url))).content as ContentPart[]
    assert.ok(JSON.stringify(part).length < 350, url.slice(0, 40))
  }
})

test('the digest of a message is that of what was sent, so that versions that keep all of it know it again', () => {
  const key = Buffer.alloc(32, 1)
  const sent = said(image(`data:image/png;base64,${BASE64}`))
  const [seen] = numberOccurrences([sent], key)
  assert.equal(seen?.digest.toString('hex'), 'f9571b50233eb1392e654c8d8ff75e7b')
  const [other] = numberOccurrences([said(image(`data:image/png;base64,${BASE64}=`))], key)
  assert.notDeepEqual(other?.digest, seen?.digest)
})

test('a reader is told the size of what there was, in a note as in what an older version has kept', () => {
  const [part] = withoutMedia(said(image(`data:image/png;base64,${BASE64}`))).content as ContentPart[]
  const url = part?.type === 'image_url' ? part.image_url.url : ''
  assert.deepEqual(inlineMediaOf(url), { mediaType: 'image/png', bytes: BYTES.length })
  const old = `data:image/png;base64,${'A'.repeat(3_000)}`
  assert.deepEqual(inlineMediaOf(old), { mediaType: 'image/png', bytes: old.length })
  assert.equal(inlineMediaOf('https://a.example/b.png'), undefined)
})
