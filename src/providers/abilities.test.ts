import assert from 'node:assert/strict'
import { test } from 'node:test'
import { abilitiesOf, ABILITIES } from './abilities.ts'

function at(kind: string, upstreamModel = 'a-model', ...unsupported: string[]) {
  return { kind, upstreamModel, unsupportedFields: new Set(unsupported) }
}

test('a model can what its operator has not ruled out, field by field', () => {
  assert.deepEqual(abilitiesOf([at('openai-compatible')]), ABILITIES)
  assert.deepEqual(abilitiesOf([at('openai-compatible', 'm', 'images', 'json_schema')]), ['tools', 'reasoning'])
  assert.deepEqual(abilitiesOf([at('openai-compatible', 'm', 'response_format', 'tools', 'reasoning_effort')]), [
    'images',
  ])
})

test('what the wire format or the name of the model rules out counts, too', () => {
  assert.deepEqual(abilitiesOf([at('anthropic', 'claude-3-5-haiku-20241022')]).includes('reasoning'), false)
  assert.deepEqual(abilitiesOf([at('anthropic', 'claude-sonnet-4-5-20250929')]), ABILITIES)
  assert.deepEqual(abilitiesOf([at('gemini', 'gemini-1.5-pro')]).includes('reasoning'), false)
  assert.deepEqual(abilitiesOf([at('vertex', 'gemini-2.5-flash')]), ABILITIES)
  assert.deepEqual(abilitiesOf([at('bedrock', 'meta.llama3-70b-instruct-v1:0')]).includes('reasoning'), false)
})

test('one route that honours it is enough, and of an unknown kind nothing is promised', () => {
  const without = at('openai-compatible', 'm', 'images', 'tools', 'json_schema', 'reasoning_effort')
  assert.deepEqual(abilitiesOf([without]), [])
  assert.deepEqual(abilitiesOf([without, at('openai-compatible', 'm', 'tools')]), [
    'images',
    'json_schema',
    'reasoning',
  ])
  assert.deepEqual(abilitiesOf([at('carrier-pigeon')]), [])
  assert.deepEqual(abilitiesOf([]), [])
})
