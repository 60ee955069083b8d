import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from './refusal.ts'
import { parseScript } from './script.ts'

function script(from: { header?: string; model?: string; lastUserText?: string }) {
  return parseScript({ header: from.header, model: from.model ?? 'sim', lastUserText: from.lastUserText ?? '' })
}

test('an option is taken from the header, else the model name, else the message', () => {
  const parsed = script({
    header: 'tokens=1',
    model: 'sim?tokens=2&ttft=20',
    lastUserText: 'Hello [[sim tokens=3 ttft=30 gap=300]] world',
  })
  assert.equal(parsed.tokens, 1)
  assert.equal(parsed.ttftMs, 20)
  assert.equal(parsed.gapMs, 300)
})

test('without a script the reply is ordinary', () => {
  const { key, ...options } = script({})
  assert.equal(key, '')
  assert.deepEqual(options, {
    tokens: undefined,
    dimensions: undefined,
    ttftMs: 0,
    gapMs: 0,
    chunkTokens: 1,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    thoughts: undefined,
    asked: false,
    text: undefined,
    talk: false,
    echo: false,
    utf8: false,
    tool: undefined,
    finish: undefined,
    error: undefined,
    newline: '\n',
    splitBytes: 0,
    status: undefined,
    fault: undefined,
    after: 3,
    times: Infinity,
    calls: 1,
    impatientMs: Infinity,
    factor: 1,
    untold: false,
    mark: undefined,
  })
})

test('a literal text is URL-decoded wherever it stands', () => {
  for (const from of [
    { header: 'text=a%20b%26c' },
    { model: 'sim?text=a%20b%26c' },
    { lastUserText: '[[sim text=a%20b%26c]]' },
  ]) {
    assert.equal(script(from).text, 'a b&c')
  }
})

test('thoughts are counted as reasoning unless another count is asked for', () => {
  assert.equal(script({ header: 'thoughts=one%20two%20three' }).reasoningTokens, 3)
  assert.equal(script({ header: 'thoughts=one%20two%20three&reasoning=100' }).reasoningTokens, 100)
  assert.equal(script({ header: 'reasoning=7' }).reasoningTokens, 7)
})

test('a flag needs no value and can be switched off', () => {
  assert.equal(script({ lastUserText: '[[sim echo]]' }).echo, true)
  assert.equal(script({ header: 'utf8=1' }).utf8, true)
  assert.equal(script({ header: 'echo=0', lastUserText: '[[sim echo]]' }).echo, false)
})

test('equal scripts have equal keys, however they are given', () => {
  assert.equal(script({ header: 'fault=U6&after=2' }).key, script({ lastUserText: '[[sim after=2 fault=U6]]' }).key)
  assert.notEqual(script({ header: 'fault=U6&after=2' }).key, script({ header: 'fault=U6&after=3' }).key)
})

test('a misspelt option or a value out of range is refused, never ignored', () => {
  for (const header of [
    'tokns=5',
    'tokens=many',
    'tokens=-1',
    'tokens=1.5',
    'tokens=100001',
    'chunk=0',
    'status=200',
    'newline=lfcr',
    'echo=maybe',
  ]) {
    assert.throws(() => script({ header }), Refusal, header)
  }
})
