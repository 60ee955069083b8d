import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserPathsOf, CALL_ENDPOINTS } from '../../rules/endpoints.ts'
import type { Call } from '../call.ts'
import type { Gateway } from '../gateway.ts'
import { paidCall, type CallPlan } from '../paid-call.ts'
import { SESSION_ENDPOINTS } from './bounds.ts'

test('a session may ask only those endpoints that say so', () => {
  const images = { path: '/v1/images', idPrefix: 'img-', isForBrowsers: false }
  assert.deepEqual(browserPathsOf({ ...CALL_ENDPOINTS, images }), [
    '/v1/chat/completions',
    '/v1/responses',
    '/v1/embeddings',
  ])
  assert.deepEqual(
    [...SESSION_ENDPOINTS.keys()],
    ['/v1/chat/completions', '/v1/responses', '/v1/embeddings', '/v1/models', '/v1/models/*'],
  )
})

/** Begins a call of a session that allows 100 tokens. One that is let through fails at the next step: there is no room for it. */
async function begin(kind: 'chat' | 'embedding', max_tokens: number | undefined, maxTokens: number | null = 100) {
  const gateway = { running: { size: 5 }, callsMax: 1 } as unknown as Gateway
  const call = { caller: { session: { id: 's', endUserId: null, maxTokens } } } as unknown as Call
  const plan = { terms: { max_tokens }, routes: [{ model: { kind } }] } as unknown as CallPlan
  await paidCall(gateway, call, plan).next()
}

test('an endpoint that does not bound a chat as its session says fails, before anything is held or asked', async () => {
  const forgotten = { message: 'the max_tokens of a browser session was not applied' }
  for (const max_tokens of [undefined, 101]) await assert.rejects(begin('chat', max_tokens), forgotten)
  const passed = { code: 'overloaded' }
  for (const max_tokens of [1, 100]) await assert.rejects(begin('chat', max_tokens), passed)
  await assert.rejects(begin('embedding', undefined), passed)
  await assert.rejects(begin('chat', undefined, null), passed)
})
