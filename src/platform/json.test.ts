import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { JsonError, parseJson, parseJsonInTurns, type JsonLimits } from './json.ts'

const LIMITS: JsonLimits = { depthMax: 4, keysMax: 6 }
const WIDE = { depthMax: 1_000, keysMax: 1_000_000 }

function parse(text: string, limits = LIMITS): unknown {
  return parseJson(Buffer.from(text), limits)
}

function assertRefused(text: string | Buffer, message: RegExp, limits = LIMITS): void {
  assert.throws(
    () => parseJson(Buffer.from(text as string), limits),
    (error) => error instanceof JsonError && message.test(error.message),
    String(text).slice(0, 100),
  )
}

function isLegal(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('every JSON value is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(1, '\t'), (text, space) => {
      assert.deepEqual(parse(text, WIDE), JSON.parse(text))
      const spaced = JSON.stringify(JSON.parse(text), null, space)
      assert.deepEqual(parse(spaced, WIDE), JSON.parse(spaced))
    }),
  )
})

test('what JSON.parse refuses is refused, also after any one byte of a legal body was changed', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 3 }), fc.nat(), fc.integer({ min: 0, max: 127 }), (text, at, byte) => {
      const bytes = Buffer.from(text)
      bytes[at % bytes.length] = byte
      const changed = bytes.toString()
      if (!bytes.equals(Buffer.from(changed))) return
      let read: unknown
      try {
        read = parseJson(bytes, WIDE)
      } catch (error) {
        assert.ok(error instanceof JsonError)
        assert.ok(!isLegal(changed) || /same field twice/.test(error.message), changed)
        return
      }
      assert.deepEqual(read, JSON.parse(changed))
    }),
    { numRuns: 1_000 },
  )
})

test('what is not JSON is refused in words for the caller', () => {
  for (const text of [
    '',
    ' ',
    '{',
    '}',
    '{"a"',
    '{"a":',
    '{"a":1',
    '[1,]',
    '{"a":1,}',
    "{'a':1}",
    '{a:1}',
    '"a',
    '"\\',
    'NaN',
  ])
    assertRefused(text, /^The body is not valid JSON\.$/)
  for (const text of [
    '[}',
    '{]',
    '{"a":1}{"a":2}',
    '1 2',
    '"\u0001"',
    '{"\\x":1}',
    '{"a\nb":1}',
    '\u00a0{}',
    '// x\n{}',
  ])
    assertRefused(text, /^The body is not valid JSON\.$/)
})

test('a byte order mark is not JSON', () => {
  assertRefused('\uFEFF{"a":1}', /^The body is not valid JSON\.$/)
})

test('bytes that are not UTF-8 are refused, never replaced', () => {
  const broken = [[0xff], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf4, 0x90, 0x80, 0x80], [0x80]]
  for (const bytes of broken) {
    const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')])
    assertRefused(body, /^The body is not valid UTF-8\.$/)
  }
  assertRefused(Buffer.from('{"a":1}', 'utf16le'), /not valid/)
})

test('nesting is allowed up to the limit and refused beyond it', () => {
  assert.deepEqual(parse('[[{"a":[]}]]'), [[{ a: [] }]])
  assertRefused('[[{"a":[[]]}]]', /^The body is nested deeper than 4 levels\.$/)
  assert.deepEqual(parse('[[],[],{"a":{}},[[[]]]]'), [[], [], { a: {} }, [[[]]]], 'what was closed does not count')
})

test('brackets and quotes inside strings are text', () => {
  assert.deepEqual(parse('{"a":"[[[[[[","b":"\\"{{{{{{","c\\\\":"]}","d":"\\\\"}'), {
    a: '[[[[[[',
    b: '"{{{{{{',
    'c\\': ']}',
    d: '\\',
  })
})

test('fields are counted over the whole body', () => {
  assert.ok(parse('[{"a":1,"b":2,"c":3},{"a":1,"b":2,"c":3}]'))
  assertRefused('[{"a":1,"b":2,"c":3},{"a":1,"b":2,"c":3},{"d":1}]', /^The body has more than 6 fields\.$/)
  assert.ok(parse('["a","b","c","d","e","f","g","h"]'), 'strings that are not fields do not count')
})

test('the same field twice in one object is refused, however it is written', () => {
  for (const text of [
    '{"a":1,"a":1}',
    '{"a":1,"b":2,"a":3}',
    '{"a":1,"\\u0061":2}',
    '{"\\u0061":1,"a":2}',
    '{"é":1,"\\u00e9":2}',
    '{"👍":1,"\\ud83d\\udc4d":2}',
    '{"a/b":1,"a\\/b":2}',
    '{"":1,"":2}',
    '{"__proto__":1,"__proto__":2}',
    '{ "a" : {} ,\n"a"\t: [] }',
    '[{"x":{"a":[1,{"b":2}],"a":2}}]',
  ])
    assertRefused(text, /^The body has the same field twice in one object\.$/, WIDE)
})

test('the same name in different objects, as a value, or in other letters is no repetition', () => {
  for (const text of [
    '[{"a":1},{"a":2}]',
    '{"a":{"a":1}}',
    '{"a":"a","b":"a"}',
    '{"a":["a","a"],"b":1}',
    '{"a":1,"A":2}',
    '{"é":1,"e\\u0301":2}',
    '{"\\\\u0061":1,"a":2}',
  ])
    assert.deepEqual(parse(text), JSON.parse(text))
})

test('__proto__ is a field like any other', () => {
  const body = parse('{"__proto__":{"polluted":true}}') as Record<string, unknown>
  assert.deepEqual(Object.keys(body), ['__proto__'])
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
})

test('items of arrays are counted over the whole body', () => {
  const limits = { ...LIMITS, itemsMax: 5 }
  assert.deepEqual(parse('[[1,2],[3],[4,5]]', limits), [[1, 2], [3], [4, 5]])
  assertRefused('[[1,2],[3,4],[5,6]]', /more than 5 items in arrays/, limits)
  assertRefused(`[${'[],'.repeat(1_000)}[]]`, /more than 5 items in arrays/, limits)
  assert.deepEqual(parse('{"a":"1,2,3,4,5,6,7","b":1}', limits), { a: '1,2,3,4,5,6,7', b: 1 })
})

test('arrays and objects are counted over the whole body, apart from their items', () => {
  const limits = { ...LIMITS, itemsMax: 1_000, bracketsMax: 3 }
  assert.deepEqual(parse('[[1,2,3],{"a":4}]', limits), [[1, 2, 3], { a: 4 }])
  assertRefused('[[1],[2],[3]]', /more than 3 arrays and objects/, limits)
  assertRefused('[{},[],{}]', /more than 3 arrays and objects/, limits)
  assert.deepEqual(parse('["[[[[","{{{{"]', limits), ['[[[[', '{{{{'])
})

test('a body that is read in turns is read as one that is read at once, wherever a slice ends', async () => {
  const giveWay = () => Promise.resolve()
  const half = 512 * 1024
  for (let more = -8; more <= 8; more++) {
    const padding = 'x'.repeat(half + more)
    for (const ending of ['\\"}', '","é\\u00e9":[1,{"b":"\\\\"}]}', '","a":1}', '"', '"}}']) {
      const bytes = Buffer.from(`{"a":"${padding}${ending}`)
      const atOnce = outcomeOf(() => parseJson(bytes, LIMITS))
      const inTurns = await parseJsonInTurns(bytes, LIMITS, giveWay).catch((error: unknown) => String(error))
      assert.deepEqual(inTurns, atOnce)
    }
  }
})

test('a long body gives way to others after each half megabyte', async () => {
  let turns = 0
  const bytes = Buffer.from(JSON.stringify({ a: 'x'.repeat(4 * 1024 * 1024) }))
  await parseJsonInTurns(bytes, LIMITS, () => Promise.resolve(void (turns += 1)))
  assert.ok(turns >= 9, `${turns} turns`)
})

function outcomeOf(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return String(error)
  }
}
