import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseChatRequest } from '../calls/chat-request.ts'
import type { FinishReason } from '../calls/chunk.ts'
import { DEFAULT_SETTINGS } from './monetization.ts'
import { answerGate, CONVERSATION_CHARACTERS_MAX, requestGate } from './gates.ts'

const PLAIN = { model: 'm', messages: [{ role: 'user', content: 'Which headphones are good for flights?' }] }

function gateOf(changes: object, { header, ...settings }: { header?: string } & Partial<typeof DEFAULT_SETTINGS> = {}) {
  const body = { ...PLAIN, ...changes }
  return requestGate({ request: parseChatRequest(body), body, header, settings: { ...DEFAULT_SETTINGS, ...settings } })
}

test('a plain question of one choice and enough room may have a recommendation', () => {
  for (const changes of [{}, { max_tokens: 64 }, { response_format: { type: 'text' } }, { n: 1, logprobs: false }])
    assert.equal(gateOf(changes), undefined)
  assert.equal(gateOf({}, { header: 'on' }), undefined)
})

test('whatever a program reads, or has no room for more, has none', () => {
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const user = PLAIN.messages[0]
  const cases = [
    { response_format: { type: 'json_object' } },
    { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {} } } },
    { tools },
    { tools, tool_choice: 'none' },
    { logprobs: true },
    { logprobs: true, top_logprobs: 2 },
    { max_tokens: 63 },
    { max_completion_tokens: 1 },
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://e.example/i.png' } }] }] },
    { messages: [user, { role: 'assistant', content: 'Which?' }] },
    { messages: [{ role: 'system', content: 'x' }] },
    {
      messages: [
        user,
        { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'a', content: '1' },
        user,
      ],
    },
  ]
  for (const changes of cases) assert.equal(gateOf(changes), 'format', JSON.stringify(changes))
})

test('who asks for none gets none: by header, by metadata, in words', () => {
  for (const header of ['off', 'OFF', 'no', '']) assert.equal(gateOf({}, { header }), 'opted_out')
  assert.equal(gateOf({ metadata: { monetization: 'off' } }), 'opted_out')
  const asking = [
    'Please show no ads.',
    "don't give me any product recommendations",
    'stop with the sponsored stuff',
    'I hate ads in chats',
  ]
  for (const content of asking)
    assert.equal(
      gateOf({ messages: [{ role: 'user', content }, { role: 'assistant', content: 'Sure.' }, ...PLAIN.messages] }),
      'opted_out',
      content,
    )
  for (const content of [
    'I need headphones without a cable.',
    'How do I add a microphone?',
    'No, the blue one. It adds up.',
  ])
    assert.equal(gateOf({ messages: [{ role: 'user', content }] }), undefined, content)
})

test('teens and children are shown none', () => {
  for (const audience of ['teen', 'child'] as const) assert.equal(gateOf({}, { audience }), 'audience')
})

test('an excluded topic counts as a word anywhere in the conversation, not as a part of one', () => {
  const messages = [
    { role: 'user', content: 'Tell me about the War of the Roses.' },
    { role: 'assistant', content: 'Long ago…' },
    ...PLAIN.messages,
  ]
  assert.equal(gateOf({ messages }, { excludedTopics: ['war'] }), 'excluded_topic')
  assert.equal(gateOf({ messages }, { excludedTopics: ['roses of', 'wa', 'ro.es'] }), undefined)
  assert.equal(gateOf({ messages }, { excludedTopics: ['of  the roses'] }), 'excluded_topic')
  assert.equal(gateOf({ messages }, { excludedTopics: ['WAR OF', ' '] }), 'excluded_topic')
  assert.equal(gateOf({ messages }, { excludedTopics: [' ', ''] }), undefined)
})

test('a conversation that is too long to be judged has none', () => {
  const content = 'word '.repeat(CONVERSATION_CHARACTERS_MAX / 5 + 1)
  assert.equal(gateOf({ messages: [{ role: 'user', content }] }), 'too_long')
})

const ANSWER =
  'For flights, look for over-ear headphones with active noise cancelling, a long battery life and a case that folds flat.'
const shapeOf = (text: string | null, finishReason: FinishReason = 'stop', rest = {}) =>
  answerGate({ text, finishReason, hasRefusal: false, hasToolCalls: false, ...rest })

test('a complete answer in prose, with lists, tables and closed code, may be followed', () => {
  const fit = [
    ANSWER,
    `${ANSWER}\n\n- one\n- two`,
    `${ANSWER}\n\n\`\`\`ts\nconst a = 1\n\`\`\``,
    `${ANSWER}\n\n| a | b |\n|---|---|\n| 1 | 2 |`,
    `# Headphones\n\n${ANSWER}\n\n<!-- note -->`,
    `I cannot say what you like, but: ${ANSWER}`,
    `${ANSWER}\n\n1. Do:\n\n    \`\`\`html\n    <div>\n    \`\`\`\n2. Use \`<div>\`, <b>bold</b><br>and <https://example.com>.`,
    `${ANSWER}\n\n\`\`\`html\n<!-- open\n<div>\n\`\`\``,
  ]
  for (const text of fit) assert.equal(shapeOf(text), undefined, text)
})

test('an answer that ended otherwise, is data, code or a refusal, or is still open somewhere, is left alone', () => {
  for (const reason of ['length', 'content_filter', 'tool_calls'] as const)
    assert.equal(shapeOf(ANSWER, reason), 'answer_shape')
  assert.equal(shapeOf(ANSWER, 'stop', { hasRefusal: true }), 'answer_shape')
  assert.equal(shapeOf(ANSWER, 'stop', { hasToolCalls: true }), 'answer_shape')
  const rows = 'name,price,stock\n'.repeat(20).trim()
  const unfit = [
    null,
    '',
    'Yes.',
    '42',
    JSON.stringify({ answer: ANSWER }),
    JSON.stringify([ANSWER, ANSWER]),
    `<?xml version="1.0"?><a>${ANSWER}</a>`,
    `<div>${ANSWER}</div>`,
    rows,
    `\`\`\`ts\n${'const a = 1\n'.repeat(20)}\`\`\``,
    `Here:\n\n~~~\n${'line\n'.repeat(30)}~~~`,
    `${ANSWER}\n\n\`\`\`ts\nconst a = 1`,
    `${ANSWER}\n\n\`\`\`\`md\n\`\`\`\nx\n\`\`\``,
    `${ANSWER}\n\n<!-- note`,
    `${ANSWER}\n\n$$\nx = 1`,
    `${ANSWER}\n\n| a | b |\n|---|---|\n| 1 | 2`,
    `${ANSWER}\n\n<details><summary>More</summary>`,
    `${ANSWER}\n\n[1]: https://example.com`,
    `${ANSWER}\n\n\`\`\`x\`\`\` is how.\n\n\`\`\`\ncode`,
    `${ANSWER}\n\n- \`\`\`\n  a\n  \`\`\`\n\n\`\`\`\ncode`,
    `${ANSWER}\n\n<?php echo 1`,
    `${ANSWER}\n\n<![CDATA[ x`,
    `${ANSWER}\n\n<!A`,
    `${ANSWER}\n\n<div hidden>`,
    `${ANSWER} <span style="display:none"`,
    `<think>hm</think> ${ANSWER}\n<think>`,
    `${ANSWER}\n\n<template><b>x</b>`,
    `I'm sorry, but I can't help with that. ${ANSWER}`,
    `I cannot help with that request. ${ANSWER}`,
    `As an AI, I have no opinion on this. ${ANSWER}`,
  ]
  for (const text of unfit) assert.equal(shapeOf(text), 'answer_shape', String(text))
})
