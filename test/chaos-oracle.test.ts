import assert from 'node:assert/strict'
import { test } from 'node:test'
import { costOf, judgeCalls, type Row } from './chaos/oracle.ts'
import type { Attempt } from './chaos/traffic.ts'

/** The oracle of a chaos run must itself be known to bite: histories that are right, and the same with one thing wrong. */

const PROJECT = 'p'
const KEYED = 'keyed'
const TIGHT = 'tight'
const ID = '01a1dd20-611e-7cc8-88da-ac90f132fd09'
const PRICE = costOf(20, 10)

function attempt(change: Partial<Attempt> = {}): Attempt {
  return {
    kind: 'test',
    end: 'complete',
    hungUp: false,
    status: 200,
    completionId: `chatcmpl-${ID.replaceAll('-', '')}`,
    projectId: PROJECT,
    gateway: 'gateway-1',
    conversationId: undefined,
    key: undefined,
    promptTokens: 20,
    outputTokensMax: 10,
    tokens: 10,
    text: undefined,
    finishReason: 'stop',
    startedAt: '',
    durationMs: 1,
    ...change,
  }
}

function row(change: Partial<Row> = {}): Row {
  const unpaid = { held: PRICE, charged: 0n, late: 0n, absorbed: 0n }
  return { id: ID, project_id: PROJECT, outcome: 'completed', ...unpaid, conversation_id: null, status: 200, ...change }
}

/** How many of each it found. */
function verdict(attempts: Attempt[], rows: Row[]): { lost: number; doubled: number; stuck: number } {
  const { lost, doubled, stuck } = judgeCalls(attempts, rows, KEYED, new Set([TIGHT]))
  return { lost: lost.length, doubled: doubled.length, stuck: stuck.length }
}

const SOUND = { lost: 0, doubled: 0, stuck: 0 }

test('a complete answer is charged exactly, at once or late', () => {
  assert.deepEqual(verdict([attempt()], [row({ charged: PRICE })]), SOUND)
  assert.deepEqual(verdict([attempt()], [row({ outcome: 'gateway_died', late: PRICE })]), SOUND)
  assert.deepEqual(verdict([attempt()], []), { ...SOUND, lost: 1 })
  assert.deepEqual(verdict([attempt()], [row()]), { ...SOUND, lost: 1 })
  assert.deepEqual(verdict([attempt()], [row({ charged: PRICE - 1n })]), { ...SOUND, lost: 1 })
  assert.deepEqual(verdict([attempt()], [row({ charged: PRICE + 1n })]), { ...SOUND, doubled: 1 })
  assert.deepEqual(verdict([attempt()], [row({ charged: PRICE, late: PRICE })]), { ...SOUND, doubled: 1 })
})

test('the operator absorbs only what an empty wallet could not pay', () => {
  const split = { outcome: 'gateway_died', late: PRICE - 5n, absorbed: 5n }
  assert.deepEqual(verdict([attempt({ projectId: TIGHT })], [row({ ...split, project_id: TIGHT })]), SOUND)
  assert.deepEqual(verdict([attempt()], [row(split)]), { ...SOUND, lost: 1 })
})

test('an answer that its hold cut short costs the hold', () => {
  const cut = attempt({ tokens: 7, finishReason: 'length' })
  const used = { outcome: 'hold_used_up', held: costOf(20, 8) + 3n }
  assert.deepEqual(verdict([cut], [row({ ...used, charged: used.held })]), SOUND)
  assert.deepEqual(verdict([cut], [row({ ...used, charged: used.held - 1n })]), { ...SOUND, lost: 1 })
  assert.deepEqual(verdict([cut], [row({ ...used, charged: used.held + 1n })]), { ...SOUND, doubled: 1 })
  assert.deepEqual(verdict([cut], [row({ outcome: 'completed', charged: costOf(20, 8) })]), { ...SOUND, doubled: 1 })
  const late = { ...used, outcome: 'gateway_died' }
  assert.deepEqual(verdict([cut], [row({ ...late, late: used.held })]), SOUND)
  assert.deepEqual(
    verdict([attempt({ finishReason: 'length' })], [row({ ...late, late: PRICE })]),
    SOUND,
    'as asked for',
  )
  const usage = { prompt_tokens: 20, completion_tokens: 9 }
  assert.deepEqual(verdict([{ ...cut, usage }], [row({ ...used, charged: used.held })]), SOUND)
  const less = { ...usage, completion_tokens: 8 }
  assert.deepEqual(verdict([{ ...cut, usage: less }], [row({ ...used, charged: used.held })]), { ...SOUND, lost: 1 })
})

test('usage that is not that of the text is noticed', () => {
  const usage = { prompt_tokens: 20, completion_tokens: 9 }
  assert.deepEqual(verdict([attempt({ usage })], [row({ charged: PRICE })]), { ...SOUND, lost: 1 })
})

test('what failed or was refused costs nothing', () => {
  for (const failed of [
    attempt({ end: 'failed', errorCode: 'upstream_failed', tokens: 3 }),
    attempt({ end: 'refused', status: 503, tokens: 0 }),
    attempt({ end: 'refused', status: 502, tokens: 0 }),
  ]) {
    assert.deepEqual(verdict([failed], [row({ outcome: 'upstream_failed' })]), SOUND)
    assert.deepEqual(verdict([failed], [row({ charged: 1n })]), { ...SOUND, doubled: 1 })
  }
  const inDoubt = attempt({ end: 'failed', errorCode: 'store_unavailable' })
  assert.deepEqual(verdict([inDoubt], [row({ charged: PRICE })]), SOUND)
  assert.deepEqual(verdict([inDoubt], [row({ charged: PRICE + 1n })]), { ...SOUND, doubled: 1 })
})

test('a broken answer costs between what arrived and the whole, unless its gateway died', () => {
  const broken = attempt({ end: 'broken', tokens: 4 })
  assert.deepEqual(verdict([broken], [row({ outcome: 'hung_up', charged: costOf(20, 6) })]), SOUND)
  assert.deepEqual(verdict([broken], [row({ outcome: 'completed', charged: PRICE })]), SOUND)
  assert.deepEqual(verdict([broken], [row({ outcome: 'gateway_died' })]), SOUND)
  assert.deepEqual(verdict([broken], [row({ outcome: 'hung_up', charged: costOf(20, 3) })]), { ...SOUND, lost: 1 })
  assert.deepEqual(verdict([broken], [row({ outcome: 'hung_up', charged: PRICE + 1n })]), { ...SOUND, doubled: 1 })
  const unread = attempt({ end: 'broken', tokens: 0 })
  assert.deepEqual(verdict([unread], [row({ outcome: 'hung_up', charged: costOf(20, 0) })]), SOUND)
  assert.deepEqual(verdict([unread], [row({ outcome: 'hung_up' })]), { ...SOUND, lost: 1 }, 'the prompt was read')
  assert.deepEqual(verdict([broken], []), { ...SOUND, stuck: 1 }, 'delivered in part, and nothing in the books')
})

test('every charge belongs to a caller', () => {
  const silent = attempt({ end: 'silent', completionId: undefined, status: undefined, tokens: 0 })
  const charge = row({ charged: PRICE })
  const other = row({ id: '01a1dd20-611e-7cc8-88da-000000000000', charged: PRICE })
  assert.deepEqual(verdict([silent], [charge]), SOUND)
  assert.deepEqual(verdict([silent], [charge, other]), { ...SOUND, doubled: 1 })
  const named = { ...silent, conversationId: 'c' }
  assert.deepEqual(verdict([named], [{ ...charge, conversation_id: 'c' }]), SOUND)
  assert.deepEqual(verdict([named], [charge]), { ...SOUND, doubled: 1 }, 'of another conversation')
  assert.deepEqual(verdict([named], [{ ...charge, outcome: 'gateway_died' }]), SOUND, 'a dead call is nameless')
  const twice = [charge, other].map((one) => ({ ...one, conversation_id: 'c' }))
  assert.deepEqual(verdict([named], twice), { ...SOUND, doubled: 1 })
})

test('a key is charged once and answered in one way, however often it is sent', () => {
  const keyed = (change: Partial<Attempt> = {}) =>
    attempt({ projectId: KEYED, key: 'k', conversationId: 'k', text: 'hello', ...change })
  const charge = row({ project_id: KEYED, conversation_id: 'k', charged: PRICE })
  const lostFirst = keyed({ end: 'silent', completionId: undefined, tokens: 0, text: '' })
  assert.deepEqual(verdict([lostFirst, keyed(), keyed()], [charge]), SOUND)
  assert.deepEqual(verdict([lostFirst], [charge]), SOUND, 'its caller gave up')
  assert.ok(verdict([lostFirst], [charge, { ...charge, id: 'x' }]).doubled > 0)
  assert.ok(verdict([lostFirst, keyed()], []).lost > 0)
  assert.ok(verdict([lostFirst, keyed()], [charge, { ...charge, id: 'x' }]).doubled > 0)
  assert.ok(verdict([keyed()], [charge, { ...charge, id: 'x', conversation_id: null }]).doubled > 0, 'a nameless one')
  assert.ok(verdict([keyed(), keyed({ text: 'goodbye' })], [charge]).doubled > 0)
})
