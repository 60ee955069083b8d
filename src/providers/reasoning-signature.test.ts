import assert from 'node:assert/strict'
import { test } from 'node:test'
import { areThoughtsKept, createSignedThoughts, signatureOf, thoughtsOf } from './reasoning-signature.ts'

const ANSWER = { role: 'assistant', content: 'Yes.' } as const
const USER = { role: 'user', content: 'Hi' } as const

function signed(): string {
  const thoughts = createSignedThoughts('anthropic')
  thoughts.addText(0, 'Hm')
  thoughts.addText(0, '.')
  thoughts.addSignature(0, 'first')
  thoughts.addRedacted(1, 'secret')
  thoughts.addText(2, 'So: 👍')
  thoughts.addSignature(2, 'sec')
  thoughts.addSignature(2, 'ond')
  return thoughts.signature() ?? assert.fail()
}

test('thoughts come back as they were, each with its own proof', () => {
  const message = { ...ANSWER, reasoning_content: 'Hm.So: 👍', reasoning_signature: signed() }
  assert.deepEqual(thoughtsOf('anthropic', message), [
    { text: 'Hm.', signature: 'first' },
    { redacted: 'secret' },
    { text: 'So: 👍', signature: 'second' },
  ])
  assert.ok(areThoughtsKept('anthropic', [USER, message]))
})

test("another provider's proof, a changed text and nonsense are worth nothing", () => {
  const reasoning_content = 'Hm.So: 👍'
  const sent = signed()
  for (const message of [
    { ...ANSWER, reasoning_content },
    { ...ANSWER, reasoning_content: 'Hm.', reasoning_signature: sent },
    { ...ANSWER, reasoning_signature: sent },
    { ...ANSWER, reasoning_content, reasoning_signature: sent.replace('anthropic', 'bedrock') },
    { ...ANSWER, reasoning_content, reasoning_signature: 'anthropic.!!!' },
    { ...ANSWER, reasoning_content, reasoning_signature: signatureOf('anthropic', [null, 5, {}, { characters: 'x' }]) },
    { ...ANSWER, reasoning_content, reasoning_signature: signatureOf('anthropic', { characters: 9 }) },
    {
      ...ANSWER,
      reasoning_content,
      reasoning_signature: signatureOf('anthropic', [{ characters: -1, signature: 's' }]),
    },
  ]) {
    assert.deepEqual(thoughtsOf('anthropic', message), [], JSON.stringify(message))
    assert.ok(!areThoughtsKept('anthropic', [USER, message]))
  }
  assert.ok(areThoughtsKept('anthropic', [USER, ANSWER, USER]), 'those of earlier turns are not wanted')
})

test('an answer whose thoughts were not all signed has no proof', () => {
  const thoughts = createSignedThoughts('anthropic')
  assert.equal(thoughts.signature(), undefined)
  thoughts.addText(0, 'Hm.')
  assert.equal(thoughts.signature(), undefined)
})

test('a proof that is larger than any answer has is not even parsed', () => {
  const blocks = (count: number) => Array.from({ length: count }, () => ({ characters: 0, signature: 's' }))
  const thoughtsFor = (content: unknown) =>
    thoughtsOf('anthropic', { ...ANSWER, reasoning_signature: signatureOf('anthropic', content) })
  assert.equal(thoughtsFor(blocks(300)).length, 300)
  assert.deepEqual(thoughtsFor(blocks(301)), [])
  const deep = `anthropic.${Buffer.from('['.repeat(200_000)).toString('base64url')}`
  assert.deepEqual(thoughtsOf('anthropic', { ...ANSWER, reasoning_signature: deep }), [])
})
