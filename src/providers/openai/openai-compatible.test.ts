import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseChatRequest } from '../../rules/calls/chat-request.ts'
import { createOpenAICompatible } from './openai-compatible.ts'
import { answerOf, finish, recordingTransport } from '../support.test.ts'
import { createTransport } from '../transport.ts'

const STOP = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }

test('a request goes to the base URL with the key, however the URL ends, and without one if there is none', async () => {
  const { sent, isLastSeen, transport } = recordingTransport(STOP, '[DONE]')
  for (const [baseUrl, apiKey] of [
    ['https://api.example.com/v1', 'k'],
    ['https://api.example.com/v1//', undefined],
  ] as const) {
    const provider = createOpenAICompatible({ name: 'p', baseUrl, transport })
    assert.deepEqual(await answerOf(provider, { apiKey }), [finish('stop')])
  }
  assert.deepEqual(
    sent.map(({ url, headers }) => [url, headers]),
    [
      ['https://api.example.com/v1/chat/completions', { authorization: 'Bearer k' }],
      ['https://api.example.com/v1/chat/completions', {}],
    ],
  )
  assert.deepEqual(isLastSeen, [false, true, false, true])
})

test('a provider that routes by a key of the cache is told the digest, others nothing, and none the caller’s own key', async () => {
  const request = parseChatRequest({
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
    prompt_cache_key: 'what the caller said',
  })
  const keysFor = async (settings: Record<string, unknown>, cache?: { key: string; isReturning: boolean }) => {
    const { sent, transport } = recordingTransport(STOP, '[DONE]')
    const provider = createOpenAICompatible({ name: 'p', baseUrl: 'https://api.example.com/v1', settings, transport })
    await answerOf(provider, { request, cache })
    return sent.map(({ body }) => (JSON.parse(body) as { prompt_cache_key?: string }).prompt_cache_key)
  }
  const cache = { key: 'digest', isReturning: false }
  assert.deepEqual(await keysFor({ promptCacheKey: true }, cache), ['digest'])
  assert.deepEqual(await keysFor({ promptCacheKey: true }), [undefined])
  assert.deepEqual(await keysFor({}, cache), [undefined])
})

const SETTINGS_REQUEST = {
  model: 'm',
  messages: [{ role: 'user', content: 'Hi' }],
  max_tokens: 7,
  seed: 1,
}

test('what a provider does differently is settings: path, query, headers, key, fields and what its refusals mean', async () => {
  const { sent, transport } = recordingTransport(STOP, '[DONE]')
  const settings = {
    auth: { header: 'api-key' },
    path: '/chat',
    query: { 'api-version': '2026-01 preview' },
    headers: { 'x-title': 'Parley' },
    maxTokensField: 'max_completion_tokens',
    askForUsage: false,
    unsupportedFields: ['seed', 'images'],
    keyRejectedBy: [401, 418],
  }
  const provider = createOpenAICompatible({ name: 'p', baseUrl: 'https://api.example.com/v1', settings, transport })
  const request = parseChatRequest(SETTINGS_REQUEST)
  await answerOf(provider, { request, apiKey: 'k', endUser: 'digest' })
  const [{ url, headers, body, kindOfRefusal } = assert.fail()] = sent
  assert.equal(url, 'https://api.example.com/v1/chat?api-version=2026-01+preview')
  assert.deepEqual(headers, { 'x-title': 'Parley', 'api-key': 'k' })
  assert.deepEqual(JSON.parse(body), {
    model: 'u',
    messages: [{ role: 'user', content: 'Hi' }],
    max_completion_tokens: 7,
    stream: true,
    user: 'digest',
  })
  assert.deepEqual(
    [401, 418, 402, 403, 400, 500].map((status) => kindOfRefusal?.(status, '')),
    ['key_rejected', 'key_rejected', 'rejected', 'rejected', undefined, undefined],
  )
  const ofTheModel = JSON.stringify({ error: { code: 'tool_use_failed', failed_generation: '{"name":' } })
  assert.deepEqual(
    [400, 500].map((status) => kindOfRefusal?.(status, ofTheModel)),
    ['model_failed', undefined],
  )
  assert.equal(provider.cannotHonour(request, 'u'), 'seed')
  const { seed: _, ...plain } = SETTINGS_REQUEST
  assert.equal(provider.cannotHonour(parseChatRequest(plain), 'u'), undefined)
})

test('settings that nothing reads are refused: a typo must not pass for a setting', () => {
  const baseUrl = 'https://api.example.com/v1'
  const transport = createTransport()
  for (const settings of [
    { pth: '/chat' },
    { path: 'chat' },
    { auth: { header: 'X-Key' } },
    { headers: { 'x-a': 'line\nbreak' } },
    { unsupportedFields: ['model'] },
    { maxTokensField: 'tokens' },
    { keyRejectedBy: [500] },
    [],
    'x',
  ]) {
    assert.throws(() => createOpenAICompatible({ name: 'p', baseUrl, settings, transport }), JSON.stringify(settings))
  }
})
