import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createReader } from './openai-events.ts'
import { text } from '../support.test.ts'
import { createTextFrame } from './text-frame.ts'

/** As most write them, with room for what some add. */
function eventOf(content: string, more: object = {}): string {
  return JSON.stringify({
    id: 'c',
    model: 'm',
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
    ...more,
  })
}

const read = (...events: string[]) => {
  const reader = createReader()
  return events.flatMap((event) => reader.read(event))
}

/** Parses each event by itself. */
const parsed = (...events: string[]) => events.flatMap((event) => createReader().read(event))

test('an event that differs in its text alone is not parsed, and read as if it had been', () => {
  let parses = 0
  const frame = createTextFrame((data) => {
    parses += 1
    return (JSON.parse(data) as { choices: { delta: { content: string } }[] }).choices[0]?.delta.content
  })
  assert.equal(frame.textIn(eventOf('Hi')), undefined)
  frame.learn(eventOf('Hi'), 'Hi')
  assert.equal(parses, 1)
  for (const said of [' there', '}', '{"', 'é', '日本', '\u2028', ' \ud83d\ude00'])
    assert.equal(frame.textIn(eventOf(said)), said.includes('"') ? undefined : said, said)
  assert.equal(parses, 1)
})

test('whatever stands in an event, it is read as a parser reads it, whatever came before it', () => {
  const events = [
    eventOf('one'),
    eventOf('two "quoted"'),
    eventOf('back\\slash'),
    eventOf('line\nbreak'),
    eventOf('\u0001'),
    eventOf(''),
    eventOf('m'),
    eventOf('c'),
    eventOf('note', { note: 'note' }),
    eventOf('other', { note: 'note' }),
    eventOf('note', { note: 'other' }),
    eventOf('x', { choices: [{ delta: { content: 'x', refusal: 'no' } }] }),
    eventOf('y', { error: null }),
    eventOf('y', { model: 'n' }),
    '{"choices":[{"delta":{"content":"first","content":"last"}}]}',
    '{"choices":[{"delta":{"content":"first","content":"changed"}}]}',
    '{"choices":[{"delta":{"content":"changed","content":"last"}}]}',
    '{ "choices" : [ { "delta" : { "content" : "wide" } } ] }',
    '{ "choices" : [ { "delta" : { "content" : "wider" } } ] }',
  ]
  for (const before of events)
    for (const event of events)
      assert.deepEqual(read(before, before, event, event), parsed(before, before, event, event), before + event)
})

test('a text that is cut short by its event, or goes on behind it, is no text', () => {
  const frame = eventOf('x')
  const [left = '', right = ''] = frame.split('x')
  for (const broken of [left, right, left + right.slice(1), left.slice(1) + right, `${left}"${right}`])
    assert.throws(() => read(frame, broken), { kind: 'bad_event' }, broken)
})

test('text after a report of usage is still told of with the usage so far', () => {
  const usage = JSON.stringify({ choices: [], usage: { prompt_tokens: 2, completion_tokens: 1 } })
  assert.deepEqual(
    read(eventOf('a'), eventOf('b'), usage, eventOf('c')).map(({ type }) => type),
    ['text', 'text', 'text', 'usage'],
  )
})

test('what is new in every event is learned three times and then no more; what is of use is learned again', () => {
  let parses = 0
  const frame = createTextFrame((data) => {
    parses += 1
    return /"content":"([^"]*)"/.exec(data)?.[1]
  })
  for (let n = 0; n < 10; n++) frame.learn(eventOf('a', { n }), 'a')
  assert.equal(parses, 3)
  const useful = createTextFrame((data) => /"content":"([^"]*)"/.exec(data)?.[1])
  for (let n = 0; n < 10; n++) {
    useful.learn(eventOf('a', { n }), 'a')
    assert.equal(useful.textIn(eventOf('b', { n })), 'b')
  }
  assert.deepEqual(read(eventOf('a'), eventOf('b')), [text('a'), text('b')])
})

test('a long event is parsed, so that its text keeps nothing else in memory', () => {
  const frame = createTextFrame(() => assert.fail('not learned'))
  frame.learn(eventOf('a', { padding: 'p'.repeat(512) }), 'a')
  assert.equal(frame.textIn(eventOf('b', { padding: 'p'.repeat(512) })), undefined)
})
