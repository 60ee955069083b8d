import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKnownProvider, createProvider } from './create-provider.ts'
import { createTransport } from './transport.ts'

const transport = createTransport()
const OPENAI = { kind: 'openai-compatible', name: 'p', baseUrl: 'https://api.example/v1' }

test('settings that this version does not know are refused where they are written, and left out by name where they are read', () => {
  const settings = { auth: { header: 'x-key', realm: 'new' }, holograms: true, maxTokensField: 'max_tokens' }
  const stored = structuredClone(settings)
  assert.throws(() => createProvider({ ...OPENAI, settings }, transport), /holograms/)
  assert.deepEqual(createKnownProvider({ ...OPENAI, settings }, transport).ignored.toSorted(), [
    'auth.realm',
    'holograms',
  ])
  assert.deepEqual(settings, stored, 'what was stored is not touched')
})

test('every kind leaves out what it does not know', () => {
  const kinds = [
    OPENAI,
    { kind: 'anthropic', name: 'a', baseUrl: 'https://api.example' },
    { kind: 'gemini', name: 'g', baseUrl: 'https://api.example' },
    { kind: 'bedrock', name: 'b', baseUrl: 'https://bedrock-runtime.us-east-1.amazonaws.com' },
    { kind: 'vertex', name: 'v', baseUrl: 'https://aiplatform.googleapis.com/v1/projects/p/locations/l' },
  ]
  for (const options of kinds) {
    assert.deepEqual(createKnownProvider({ ...options, settings: {} }, transport).ignored, [], options.kind)
    const { ignored } = createKnownProvider({ ...options, settings: { holograms: 1 } }, transport)
    assert.deepEqual(ignored, ['holograms'], options.kind)
  }
})

test('a value that cannot be read is never left out, nor one beside what is not known', () => {
  for (const settings of [{ maxTokensField: 'tokens' }, { maxTokensField: 'tokens', holograms: true }, 'text'])
    assert.throws(() => createKnownProvider({ ...OPENAI, settings }, transport))
  assert.throws(() => createKnownProvider({ ...OPENAI, kind: 'telepathy', settings: {} }, transport), /telepathy/)
})
