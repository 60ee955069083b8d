import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withExtra } from './extra-body.ts'

test('without anything extra a body stays the one it is', () => {
  const body = { model: 'm' }
  assert.equal(withExtra(body, undefined), body)
})

test('what is extra is added, and what the request says itself counts', () => {
  const extra = { reasoning_effort: 'none', top_k: 5, temperature: 0.2 }
  assert.deepEqual(withExtra({ model: 'm', temperature: 1 }, extra), { ...extra, model: 'm', temperature: 1 })
})

test('a field that is undefined was left open, while null, false, 0 and an empty text were said', () => {
  const extra = { a: 1, b: 1, c: 1, d: 1, e: 1 }
  const body = { a: undefined, b: null, c: false, d: 0, e: '' }
  assert.deepEqual(withExtra(body, extra), { ...body, a: 1 })
})

test('objects are filled up field by field, at every depth', () => {
  const body = { generationConfig: { temperature: 1, thinkingConfig: { thinkingBudget: 0 } } }
  const extra = { generationConfig: { temperature: 0, topK: 3, thinkingConfig: { thinkingBudget: 9, more: true } } }
  assert.deepEqual(withExtra(body, extra), {
    generationConfig: { temperature: 1, topK: 3, thinkingConfig: { thinkingBudget: 0, more: true } },
  })
})

test('lists are never joined, and a list or a text takes the place of an object', () => {
  assert.deepEqual(
    withExtra({ stop: ['a'], tools: ['x'], system: 'S' }, { stop: ['b'], tools: { y: 1 }, system: {} }),
    {
      stop: ['a'],
      tools: ['x'],
      system: 'S',
    },
  )
})

test('neither the body nor what is extra is changed, though both are used again', () => {
  const body = { config: { a: 1 } }
  const extra = { config: { b: 2 } }
  const before = structuredClone([body, extra])
  assert.deepEqual(withExtra(body, extra), { config: { a: 1, b: 2 } })
  assert.deepEqual([body, extra], before)
})

test('a name of every object is a name like any other', () => {
  const extra = JSON.parse('{"__proto__":{"polluted":true}}') as Record<string, unknown>
  const merged = withExtra({ constructor: 'said', toString: { a: 1 } }, extra)
  assert.equal(JSON.stringify(merged), '{"__proto__":{"polluted":true},"constructor":"said","toString":{"a":1}}')
  assert.equal(({} as { polluted?: boolean }).polluted, undefined)
})
