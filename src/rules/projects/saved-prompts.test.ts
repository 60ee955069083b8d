import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROMPT_BYTES_MAX, promptBytes, promptProblemOf, type PromptContent } from './saved-prompts.ts'

function prompt(text: string): PromptContent {
  const messages = [{ role: 'user' as const, content: text }]
  return { system: '', messages, temperature: null, maxTokens: null, stream: true }
}

test('a prompt of exactly 60 KB can be saved, and one of a byte more cannot', () => {
  const room = PROMPT_BYTES_MAX - promptBytes(prompt(''))
  assert.equal(promptProblemOf(prompt('x'.repeat(room))), undefined)
  assert.match(promptProblemOf(prompt('x'.repeat(room + 1))) ?? '', /at most 60 KB/)
  assert.match(promptProblemOf(prompt('ü'.repeat(room / 2 + 1))) ?? '', /at most 60 KB/, 'bytes, not characters')
})

test('text that the database does not take into JSON is refused in words, also in the system prompt', () => {
  for (const text of ['a\0b', '\ud800']) {
    assert.match(promptProblemOf(prompt(text)) ?? '', /NUL/)
    assert.match(promptProblemOf({ ...prompt('x'), system: text }) ?? '', /NUL/)
  }
  assert.equal(promptProblemOf(prompt('👋 ok')), undefined)
})
