import assert from 'node:assert/strict'
import { test } from 'node:test'
import { guideNamed, type Guide } from './guides.ts'
import { anchorOf, llmsText, publishedText, sectionsOf } from './published.ts'

const streaming = guideNamed('streaming') as Guide

test('links lead to pages that are served, and words stay where there is none', () => {
  const text = [
    'See [billing](../billing.md#hanging-up), [runbook](runbook.md), [the policy](../../SECURITY.md),',
    '[below](#here) and [elsewhere](https://example.com).',
  ].join('\n')
  assert.equal(
    publishedText(text, streaming),
    [
      'See [billing](/docs/billing.md#hanging-up), [runbook](/docs/runbook.md), the policy,',
      '[below](#here) and [elsewhere](https://example.com).',
    ].join('\n'),
  )
})

test('pictures and remarks are left out, and code is left alone', () => {
  const text = 'a\n\n<!-- a remark -->\n\n![Home](images/home.png)\n\nb\n\n```sh\n[x](../y.md) <!-- z -->\n```\n'
  assert.equal(publishedText(text, streaming), 'a\n\nb\n\n```sh\n[x](../y.md) <!-- z -->\n```\n')
})

test('headings are linked to as on GitHub', () => {
  for (const [heading, anchor] of [
    ['POST /v1/chat/completions', 'post-v1chatcompletions'],
    ['Who changed what', 'who-changed-what'],
    ['GET /v1/receipts/{completion_id}', 'get-v1receiptscompletion_id'],
    ['At 3 a.m.', 'at-3-am'],
    ['reasoning_effort, by model', 'reasoning_effort-by-model'],
  ] as const)
    assert.equal(anchorOf(heading), anchor)
})

test('a page is its sections, and a heading inside of code is none', () => {
  const sections = sectionsOf(
    '# Title\n\nFirst.\n\n## One `two`\n\n```sh\n## no heading\n```\n\n## Three\n\n### Four\n',
  )
  assert.deepEqual(
    sections.map(({ title, anchor }) => [title, anchor]),
    [
      ['', ''],
      ['One two', 'one-two'],
      ['Three', 'three'],
    ],
  )
  assert.match(sections[1]?.text ?? '', /## no heading/)
  assert.match(sections[2]?.text ?? '', /### Four/)
})

test('llms.txt begins as it is to begin', () => {
  assert.match(
    llmsText(),
    /^# Parley\n\n> .+\n\n[^]*\(\/openapi\.json\)[^]*\n## Start\n\n- \[Quick start\]\(\/docs\/quick-start\.md\): /,
  )
})
