import assert from 'node:assert/strict'
import { test } from 'node:test'
import { languageOf, tokensOf } from './highlight.ts'

/** `kind:text` of what is not plain. */
function marked(code: string, language: string): string[] {
  return tokensOf(code, language).flatMap(({ kind, text }) => (kind === 'plain' ? [] : [`${kind}:${text}`]))
}

test('nothing of an example is lost or changed', () => {
  const code = 'const a = `x ${b}` // "not a text"\nexport PATH="a b" # c\n{"a": [1, -2.5e3, null]} 日本語 👩‍👩‍👧\n'
  for (const language of ['js', 'ts', 'json', 'python', 'sh', 'http', 'unknown', ''])
    assert.equal(
      tokensOf(code, language)
        .map(({ text }) => text)
        .join(''),
      code,
      language,
    )
})

test('words, texts, numbers and remarks are told apart', () => {
  assert.deepEqual(marked("const important = await f('a // b') // c", 'js'), [
    'keyword:const',
    'keyword:await',
    "string:'a // b'",
    'comment:// c',
  ])
  assert.deepEqual(marked('{"a": "b", "c": [1, true]}', 'json'), [
    'name:"a"',
    'string:"b"',
    'name:"c"',
    'number:1',
    'keyword:true',
  ])
  assert.deepEqual(marked(`curl -sS http://x/#y -d '{"a": 1}' # z`, 'sh'), [
    'keyword:curl',
    'name:-sS',
    'name:-d',
    `string:'{"a": 1}'`,
    'comment:# z',
  ])
  assert.deepEqual(marked('for x in y: # z', 'python'), ['keyword:for', 'keyword:in', 'comment:# z'])
  assert.deepEqual(marked('data: {"a":true}\n\n: ping', 'http'), [
    'name:data:',
    'string:"a"',
    'keyword:true',
    'comment:: ping',
  ])
})

test('a long example is read in one go', () => {
  const code = 'const text = "a" // b\n'.repeat(1_000)
  const beganMs = performance.now()
  tokensOf(code, 'js')
  assert.ok(performance.now() - beganMs < 2_000)
})

test('a language is known by its other names and by how its files end, and no name leads elsewhere', () => {
  const names = ['bash', 'TypeScript', 'py', 'ask.mjs', 'ask.py', 'json', '', 'constructor', '__proto__']
  assert.deepEqual(names.map(languageOf), [
    'sh',
    'ts',
    'python',
    'js',
    'python',
    'json',
    '',
    'constructor',
    '__proto__',
  ])
  for (const name of ['constructor', '__proto__', 'toString']) assert.deepEqual(marked('const a = 1', name), [])
})
