import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verdictOf, type Bar, type Sample } from '../bench/calls/bars.ts'
import { CASES } from '../bench/calls/cases.ts'
import { chartOf } from '../bench/calls/chart.ts'
import { MARK, pageWith } from '../bench/calls/page.ts'
import { cpuMsOf, cpuMsWithChildren, residentKbOf } from '../bench/calls/processes.ts'
import { quantile, rotated, spreadOf } from '../bench/calls/statistics.ts'
import { barsTable, callsTable, memoryTable } from '../bench/calls/table.ts'

const RATIO: Bar = { case: 'json', measure: 'cpuMs', as: 'ratio', against: 'before', most: 0.5 }

/** CPU time of Parley and of another, round by round. */
function rounds(own: number[], others: number[], against: Sample['subject'] = 'before'): Sample[] {
  return [
    ...own.map((cpuMs, n): Sample => ({ round: n + 1, case: 'json', subject: 'parley', cpuMs })),
    ...others.map((cpuMs, n): Sample => ({ round: n + 1, case: 'json', subject: against, cpuMs })),
  ]
}

test('a ratio is made within a round: a machine that slows down for both changes nothing', () => {
  const { found, isReached } = verdictOf(RATIO, rounds([1, 4, 2], [2, 8, 5]))
  assert.deepEqual(found, { median: 0.5, min: 0.4, max: 0.5 })
  assert.equal(isReached, true)
})

test('a bar is reached at its value and missed above it, by the median', () => {
  assert.equal(verdictOf(RATIO, rounds([1, 1, 3], [2, 2, 2])).isReached, true)
  assert.equal(verdictOf(RATIO, rounds([1, 1.02, 1.02], [2, 2, 2])).isReached, false)
})

test('a bar whose other side was not measured is not reached, and says so', () => {
  for (const samples of [rounds([1], []), rounds([], [1]), rounds([1], [1], 'portkey'), rounds([1], [0])]) {
    const verdict = verdictOf(RATIO, samples)
    assert.equal(verdict.found, undefined)
    assert.equal(verdict.isReached, false)
    assert.match(barsTable([verdict]), /json .*CPU as a share of before’s .*≤ 0\.5 .*– .*not measured/)
  }
})

test('a bar of a time is what it is above the other, and one of memory is a value by itself', () => {
  const samples: Sample[] = [
    { round: 1, case: 'json', subject: 'parley', firstByteMs: 5, kbPerStream: 40 },
    { round: 1, case: 'json', subject: 'bare', firstByteMs: 3.5, kbPerStream: 10 },
  ]
  const excess = verdictOf({ case: 'json', measure: 'firstByteMs', as: 'excess', against: 'bare', most: 2 }, samples)
  assert.equal(excess.found?.median, 1.5)
  const value = verdictOf({ case: 'json', measure: 'kbPerStream', as: 'value', most: 39 }, samples)
  assert.equal(value.found?.median, 40)
  assert.deepEqual([excess.isReached, value.isReached], [true, false])
  assert.match(barsTable([excess, value]), /ms over bare’s.* ok .*\n.*held stream.* falls short/)
})

test('medians and quantiles lie between the values where they must', () => {
  assert.deepEqual(spreadOf([3, 1, 2]), { median: 2, min: 1, max: 3 })
  assert.equal(spreadOf([]), undefined)
  assert.equal(quantile([4, 1], 0.5), 2.5)
  assert.equal(quantile([0, 10, 20], 0.95), 19)
  assert.equal(quantile([7], 0.95), 7)
})

test('everybody is first once', () => {
  assert.deepEqual(
    [0, 1, 2, 3].map((by) => rotated(['a', 'b', 'c'], by).join('')),
    ['abc', 'bca', 'cab', 'abc'],
  )
  assert.deepEqual(rotated([], 2), [])
})

test('a table has a row for each case and subject, with its spread, and a dash for what was not measured', () => {
  const samples = rounds([1, 2, 3], [2.5])
  const lines = callsTable(samples).split('\n')
  assert.equal(lines.length, 4)
  assert.match(lines[2] ?? '', /^\| json \| parley {2}\| 2\.00 \(1\.00\.\.3\.00\) \| – /)
  assert.match(lines[3] ?? '', /^\| json \| before {2}\| 2\.50 \(2\.50\.\.2\.50\) \| – /)
  assert.equal(new Set(lines.map((line) => line.length)).size, 1)
  assert.equal(memoryTable(samples).split('\n').length, 2)
})

test('the chart has a bar for each subject, as long as its time on the scale of its case', () => {
  const samples = [...rounds([1, 1, 4], [2]), { round: 1, case: 'held', subject: 'bare', kbPerStream: 9 } as const]
  const chart = chartOf(samples, new Map([['json', 'less < more']]))
  const lengths = [...chart.matchAll(/<rect [^>]*width="([\d.]+)"/g)].map(([, width]) => Number(width))
  assert.deepEqual(lengths, [140, 280])
  assert.match(chart, /<text[^>]*>json: less &lt; more<\/text>/)
  assert.match(chart, /prefers-color-scheme:dark/)
  assert.ok(!chart.includes('held') && !chart.includes('NaN'))
  // From the least to the most of Parley: 1 to 4, of which 4 is the whole width.
  assert.match(chart, /d="M230 \d+H650/)
})

test('what is written by hand stays, and what was measured last is replaced', () => {
  assert.equal(pageWith(`# By hand\n\n${MARK}\n\nold`, 'new'), `# By hand\n\n${MARK}\n\nnew\n`)
  assert.throws(() => pageWith('# By hand', 'new'), /must have this line once/)
})

test('a conversation grows by the answers that came, up to twenty turns, and then another begins', () => {
  const lane = CASES.find(({ name }) => name === 'conversation')!.lane()
  const answer = JSON.stringify({ choices: [{ message: { content: 'said' } }] })
  const asked = Array.from({ length: 21 }, (_, n) => lane(n === 0 ? undefined : answer))
  const messages = asked.map(({ body }) => (JSON.parse(body) as { messages: { content: string }[] }).messages)
  assert.deepEqual(
    [messages[0]?.length, messages[1]?.length, messages[19]?.length, messages[20]?.length],
    [1, 3, 39, 1],
  )
  assert.equal(messages[1]?.[1]?.content, 'said')
  const ids = asked.map(({ headers }) => headers?.['x-conversation-id'])
  assert.equal(new Set(ids.slice(0, 20)).size, 1)
  assert.notEqual(ids[20], ids[0])
})

test('what a process used is read from /proc', { skip: process.platform !== 'linux' }, () => {
  const { user, system } = process.cpuUsage()
  const usedMs = (user + system) / 1_000
  // It is counted in steps of 10 ms each.
  assert.ok(Math.abs(cpuMsOf(process.pid) - usedMs) <= 30, `${cpuMsOf(process.pid)} is not ${usedMs}`)
  assert.ok(cpuMsWithChildren(process.pid) >= cpuMsOf(process.pid))
  assert.ok(Math.abs(residentKbOf(process.pid) - process.memoryUsage.rss() / 1_024) < 20_000)
})
