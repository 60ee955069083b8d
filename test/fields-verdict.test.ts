import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROVIDER_KINDS } from '../src/providers/create-provider.ts'
import { FORMAT_NAMES, FORMATS } from './fields/formats.ts'
import { complaintsAbout, type Exchange } from './fields/judge.ts'
import { expectedOf, keeps, refused, sees, type Row } from './fields/row.ts'
import { missingFields, planOf, TABLE, unsaid } from './fields/table.ts'

const BODY = { thinking: { budget_tokens: 24_576 }, messages: [{ role: 'user', content: 'Hello' }] }
const answeredWith = (body: unknown): Exchange => ({ status: 200, message: '', answered: new Set(), bodies: [body] })
const refusedWith = (message: string, status = 422): Exchange => ({
  status,
  message,
  answered: new Set(),
  bodies: [],
})

test('a field that the provider was told in its own words is honoured', () => {
  const expected = sees({ 'thinking.budget_tokens': 24_576, 'messages.0.role': 'user', temperature: undefined })
  assert.deepEqual(complaintsAbout(expected, answeredWith(BODY)), [])
})

test('a field that was dropped, changed or added is noticed', () => {
  const told = (at: Record<string, unknown>) => complaintsAbout(sees(at), answeredWith(BODY))
  assert.deepEqual(told({ stop_sequences: ['END'] }), ['stop_sequences is undefined, not ["END"]'])
  assert.deepEqual(told({ 'thinking.budget_tokens': 1_024 }), ['thinking.budget_tokens is 24576, not 1024'])
  assert.deepEqual(told({ thinking: undefined }), ['thinking is {"budget_tokens":24576}, not undefined'])
  assert.deepEqual(told({ 'messages.0': { role: 'user' } }).length, 1, 'what stands beside it counts')
  assert.deepEqual(told({ 'messages.length': 1 }).length, 1, 'only what was sent is there')
})

test('a pattern is met by a text, and by nothing else', () => {
  const told = (pattern: RegExp, seen: unknown) =>
    complaintsAbout(sees({ signature: pattern }), answeredWith({ signature: seen }))
  assert.deepEqual(told(/^signed/, 'signed by me'), [])
  assert.deepEqual(told(/^signed/, 'forged'), ['signature is "forged", not /^signed/'])
  assert.equal(told(/^/, undefined).length, 1)
})

test('a word of the caller that reaches the provider is noticed', () => {
  assert.deepEqual(complaintsAbout(keeps('Hello'), answeredWith(BODY)), ['the provider saw "Hello"'])
  assert.deepEqual(complaintsAbout(keeps('ada'), answeredWith(BODY)), [])
})

test('a call that fails, or is made twice, or answers less than was asked for, is no success', () => {
  assert.deepEqual(complaintsAbout(sees({}), refusedWith('Retry.', 502)), ['the status is 502: Retry.'])
  const twice = { ...answeredWith(BODY), bodies: [BODY, BODY] }
  assert.deepEqual(complaintsAbout(sees({}), twice), ['the provider was asked 2 times'])
  assert.equal(complaintsAbout(sees({}), { ...twice, bodies: [] }).length, 1)
  const lacking = complaintsAbout(sees({}, { answered: ['logprobs'] }), answeredWith(BODY))
  assert.deepEqual(lacking, ['the answer has no logprobs'])
})

test('a refusal is 422, begins with the name of the field, and comes before the provider is asked', () => {
  const told = (exchange: Exchange) => complaintsAbout(refused('top_p'), exchange)
  assert.deepEqual(told(refusedWith('top_p is not supported by this model.')), [])
  assert.deepEqual(told(refusedWith('top_p[1] must be one.')), [])
  assert.equal(told(refusedWith('top_p is not supported by this model.', 502)).length, 1)
  assert.equal(told(refusedWith('The field top_p is not supported.')).length, 1)
  assert.equal(told(refusedWith('top_probability is not supported.')).length, 1, 'that is another field')
  assert.equal(told({ ...refusedWith('top_p is not supported.'), bodies: [BODY] }).length, 1)
  assert.equal(told(answeredWith(BODY)).length, 3)
})

test('the table stands for every field that a request may have, in every format', () => {
  const kinds = Object.values(FORMATS).map(({ kind }) => kind)
  assert.deepEqual(kinds.toSorted(), PROVIDER_KINDS.toSorted())
  assert.deepEqual(missingFields(), [])
  assert.deepEqual(unsaid(), [])
  assert.ok(missingFields(TABLE.filter(({ field }) => field !== 'seed')).includes('seed'))
  const row: Row = { field: 'x', does: '', cases: [{ name: 'any', request: {}, openai: sees({}) }] }
  assert.deepEqual(unsaid([row]), ['x in anthropic', 'x in gemini', 'x in vertex', 'x in bedrock'])
})

test('a refusal stands in the row of the field that it names, where somebody who was refused looks for it', () => {
  const misplaced = TABLE.flatMap(({ field, also = [], cases }) =>
    FORMAT_NAMES.flatMap((format) => {
      const expected = cases.flatMap((tried) => expectedOf(tried, format) ?? [])
      const refusals = expected.flatMap((one) => ('refused' in one ? [one.refused] : []))
      const names = new Set([field, ...also, 'messages'])
      // Where all is refused, there is nothing to look for.
      if (refusals.length === expected.length) return []
      return refusals.filter((words) => !names.has(String(/^\w+/.exec(words)))).map((words) => `${field}: ${words}`)
    }),
  )
  assert.deepEqual(misplaced, [])
})

test('the plan is every case by every format that it names, as JSON and as a stream, each under a name of its own', () => {
  const cells = planOf({})
  assert.equal(new Set(cells.map(({ id }) => id)).size, cells.length)
  assert.deepEqual([...new Set(cells.map(({ format }) => format))].toSorted(), FORMAT_NAMES.toSorted())
  assert.equal(cells.filter(({ isStreamed }) => isStreamed).length * 2, cells.length)
  const some = planOf({ format: 'vertex', field: 'max_completion_tokens' })
  assert.ok(some.length > 0 && some.every(({ row, format }) => row.field === 'max_tokens' && format === 'vertex'))
  assert.deepEqual(planOf({ field: 'no such field' }), [])
})
