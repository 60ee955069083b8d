import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../durations.ts'
import { CLICK_VERDICTS, judgeClick, VERDICT_LABELS, type ClickFacts } from './verdict.ts'

/** The corpus of test/corpora/clicks has hundreds of clicks; here is what stands at the edges. */

const SHOWN_AT = new Date('2026-11-01T12:00:00Z')

function after(ms: number, change: Partial<ClickFacts> = {}): ClickFacts {
  return {
    method: 'GET',
    headers: {
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      accept: 'text/html',
      'accept-language': 'en',
    },
    isDataCentre: false,
    isCallersNetwork: false,
    state: 'delivered',
    shownAt: SHOWN_AT,
    at: new Date(SHOWN_AT.getTime() + ms),
    ...change,
  }
}

test('a click counts from one second to thirty days after the recommendation was shown', () => {
  const verdicts = [-5_000, 0, 999, 1_000, 30 * DAY_MS, 30 * DAY_MS + 1].map((ms) => judgeClick(after(ms)))
  assert.deepEqual(verdicts, ['too_fast', 'too_fast', 'too_fast', 'valid', 'valid', 'too_old'])
  assert.equal(judgeClick(after(Number.NaN)), 'too_fast', 'a time that is not known is not paid for')
})

test('where nobody can tell any more whether it came from the network that asked, nobody pays', () => {
  assert.equal(judgeClick(after(5_000, { isCallersNetwork: undefined })), 'too_old')
})

test('a header that came more than once is read whole', () => {
  const { headers } = after(5_000)
  const withHeader = (name: string, value: string[]) =>
    judgeClick(after(5_000, { headers: { ...headers, [name]: value } }))
  assert.equal(withHeader('purpose', ['navigate', 'prefetch']), 'prefetch')
  assert.equal(withHeader('signature-input', ['a=("@method")', 'b=("@path");tag="web-bot-auth"']), 'agent')
  assert.equal(withHeader('user-agent', []), 'not_a_browser')
})

test('a script that names only its library is no bot, though lists of bots have it, and neither is a name without end', () => {
  const { headers } = after(5_000)
  const sentBy = (userAgent: string) => judgeClick(after(5_000, { headers: { ...headers, 'user-agent': userAgent } }))
  assert.deepEqual(['curl/8.5.0', 'python-requests/2.32', 'Googlebot/2.1'].map(sentBy), [
    'not_a_browser',
    'not_a_browser',
    'bot',
  ])
  const browser = headers['user-agent'] as string
  assert.deepEqual([browser.padEnd(1_000, 'x'), browser.padEnd(1_001, 'x')].map(sentBy), ['valid', 'not_a_browser'])
})

test('what a page loads without a click is no click', () => {
  const { headers } = after(5_000)
  const loaded = (destination: string, more = {}) =>
    judgeClick(after(5_000, { headers: { ...headers, 'sec-fetch-dest': destination, ...more } }))
  assert.deepEqual(
    ['document', 'image', 'empty', 'script', 'iframe', 'frame'].map((one) => loaded(one)),
    ['valid', ...Array.from({ length: 5 }, () => 'prefetch')],
  )
  assert.equal(loaded('iframe', { 'sec-fetch-user': '?1' }), 'valid')
  assert.equal(loaded('image', { 'sec-fetch-user': '?1' }), 'prefetch')
})

test('a signature for another purpose makes nobody an agent', () => {
  const { headers } = after(5_000)
  for (const input of ['a=();tag="proxy"', 'a=();keyid="web-bot-auth"', 'a=("tag");x="y"', ''])
    assert.equal(judgeClick(after(5_000, { headers: { ...headers, 'signature-input': input } })), 'valid', input)
})

test('every verdict has a label of its own and a sentence', () => {
  assert.deepEqual(Object.keys(VERDICT_LABELS), [...CLICK_VERDICTS])
  assert.equal(new Set(Object.values(VERDICT_LABELS).map(({ label }) => label)).size, CLICK_VERDICTS.length)
  for (const { label, explanation } of Object.values(VERDICT_LABELS)) {
    assert.match(label, /^[A-Z].*[^.]$/)
    assert.match(explanation, /^[A-Z].*\.$/)
  }
})
