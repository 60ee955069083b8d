import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

/** All text for people is written in one voice: docs/style-of-words.md has the choices, and a test can check these. */

const PLACES = ['dashboard/src', 'dashboard/index.html', 'src', 'docs', 'README.md']
const CHOICES: readonly (readonly [RegExp, string])[] = [
  [/\be-mail/i, 'email'],
  [/\b(?:a|another|this|no|one) mail\b/i, 'email'],
  [/(?:\d|\}) %(?![\w(=])/, '15.7%, without a space'],
  [/\b95 ?%(?: of| percentile)|95th percentile/i, 'p95'],
  [/\bWrite (?:a|an|your|the) (?:name|password|code|domain|amount|email|id|date)\b/, 'Enter …'],
  [/\b(?:log ?in|login) (?:page|button|again)\b/i, 'sign in'],
  [/\b(?:fit|fits) these filters\b/, 'match these filters'],
  [/\bwaits? for approval\b/, 'awaiting approval'],
  [/\bif it stays\b/i, 'if it keeps happening'],
  [/\bPut this away\b/i, 'Dismiss'],
  [/\bcannot be brought back\b/, 'cannot be restored, or cannot be undone'],
  [/\bwhen its time had passed\b/, 'when its retention period ended'],
  [/\bcalls at the same time\b/i, 'concurrent calls'],
  [/\bsuccessfully\b/i, 'say what happened, without it'],
]

test('what people read is written in the words of docs/style-of-words.md', () => {
  const wrong = filesThatPeopleRead().flatMap((file) =>
    wordsOf(file).flatMap(({ line, text }) =>
      CHOICES.filter(([pattern]) => pattern.test(text)).map(
        ([, instead]) => `${file}:${line}: ${text.trim()} → ${instead}`,
      ),
    ),
  )
  assert.deepEqual(wrong, [])
})

test('a wrong word is seen, wherever it stands', () => {
  const seen = (text: string) => CHOICES.filter(([pattern]) => pattern.test(text)).length
  for (const text of [
    'Your e-mail',
    'another mail is',
    '15.7 %',
    '`${share} %`',
    'Write your password.',
    'if it stays',
  ])
    assert.equal(seen(text), 1, text)
  for (const text of ['count % 2', '15.7%', 'Emails go to all owners.', 'x % (y)']) assert.equal(seen(text), 0, text)
})

function filesThatPeopleRead(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...PLACES], {
    encoding: 'utf8',
  })
  return listed
    .split('\n')
    .filter(
      (file) => /\.(?:tsx?|md|html)$/.test(file) && !file.endsWith('.test.ts') && file !== 'docs/style-of-words.md',
    )
}

/** Every line of a page; of code, those that are no comments. */
function wordsOf(file: string): { line: number; text: string }[] {
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .map((text, n) => ({ line: n + 1, text }))
  return file.endsWith('.md') ? lines : lines.filter(({ text }) => !/^\s*(?:\/\/|\/?\*)/.test(text))
}
