import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { clickNetworkOf } from '../src/rules/clicks/networks.ts'
import { STATES, VERDICTS } from '../dashboard/src/pages/earnings/verdicts.ts'
import { CLICK_STATES } from '../src/rules/clicks/earnings.ts'
import {
  CLICK_VERDICTS,
  judgeClick,
  VERDICT_LABELS,
  type ClickFacts,
  type ClickVerdict,
} from '../src/rules/clicks/verdict.ts'
import { CLICK_SEQUENCES, factsOf, VERDICTS_OF_LEDGER, type ClickSequence } from './corpora/clicks/sequences.ts'

/** The corpus of clicks: what each is without the ledger, and that it is worth the name. */

const BEGINNING = new Date('2026-11-01T12:00:00Z')
const PEOPLE_MIN = 90
const SEQUENCES_MIN = 320
const SEQUENCES_OF_A_VERDICT_MIN = 8

/** The clicks of the sequences whose verdict is among these, or is the ledger's; as `name: verdict, expected …`. */
function misjudged(verdicts: readonly ClickVerdict[]): string[] {
  return CLICK_SEQUENCES.flatMap((sequence) =>
    factsOf(sequence, BEGINNING).flatMap((facts, n) => {
      const { expected } = sequence.clicks[n]!
      const before = VERDICTS_OF_LEDGER.includes(expected) ? 'valid' : expected
      const verdict = judgeClick(facts)
      if (verdict === before || !verdicts.includes(before)) return []
      return [`${sequence.name}, click ${n + 1}: ${verdict}, expected ${before}`]
    }),
  )
}

for (const verdict of CLICK_VERDICTS.filter((one) => !VERDICTS_OF_LEDGER.includes(one)))
  test(`clicks of the corpus that are ${verdict} are called so`, () => {
    assert.deepEqual(misjudged([verdict]), [])
  })

test('the corpus has enough of every verdict, and many different people', () => {
  assert.ok(CLICK_SEQUENCES.length >= SEQUENCES_MIN, `${CLICK_SEQUENCES.length} sequences`)
  for (const verdict of CLICK_VERDICTS) {
    const count = CLICK_SEQUENCES.filter(({ clicks }) => clicks.some(({ expected }) => expected === verdict)).length
    assert.ok(count >= SEQUENCES_OF_A_VERDICT_MIN, `${verdict}: ${count} sequences`)
  }
  const people = CLICK_SEQUENCES.flatMap(({ clicks }) => clicks).filter(({ expected }) => expected === 'valid')
  const userAgents = new Set(people.map(({ headers }) => headers['user-agent']))
  assert.ok(userAgents.size >= PEOPLE_MIN, `${userAgents.size} user agents of people`)
})

const FIELDS = {
  sequence: ['name', 'serve', 'serves', 'clicks'],
  serve: ['state', 'ageMs', 'budgetClicks', 'creditClicks', 'callerAddress', 'closed'],
  click: ['afterMs', 'serve', 'method', 'headers', 'address', 'expected'],
}

function problemsOf(sequence: ClickSequence): string[] {
  const { name, serve, serves = 1, clicks } = sequence
  const unknown = (value: object, fields: string[]) => Object.keys(value).filter((field) => !fields.includes(field))
  const isWhole = (value: number | undefined) => value === undefined || (Number.isSafeInteger(value) && value >= 0)
  const problems = [
    ...unknown(sequence, FIELDS.sequence),
    ...unknown(serve, FIELDS.serve),
    ...clicks.flatMap((click) => unknown(click, FIELDS.click)),
  ].map((field) => `has ${field}`)
  if (clicks.length === 0) problems.push('has no click')
  if (![serves, serve.ageMs, serve.budgetClicks, serve.creditClicks].every(isWhole)) problems.push('has an odd number')
  for (const { afterMs, serve: which = 0, headers, expected } of clicks) {
    if (!isWhole(afterMs) || !isWhole(which) || which >= serves) problems.push('has a click that cannot be')
    if (!CLICK_VERDICTS.includes(expected)) problems.push(`expects ${expected}`)
    for (const [header, value] of Object.entries(headers))
      if (!/^[a-z-]+$/.test(header) || typeof value !== 'string' || /[^\t\x20-\x7e]/.test(value))
        problems.push(`has a header that cannot be sent: ${header}`)
  }
  return problems.map((problem) => `${name} ${problem}`)
}

test('the sequences of the corpus are well-formed, have names of their own, and share no network', () => {
  assert.deepEqual(CLICK_SEQUENCES.flatMap(problemsOf), [])
  assert.equal(new Set(CLICK_SEQUENCES.map(({ name }) => name)).size, CLICK_SEQUENCES.length)
  const ownerOf = new Map<string, string>()
  for (const { name, clicks } of CLICK_SEQUENCES)
    for (const { address, expected } of clicks) {
      const network = clickNetworkOf(address)
      // Only those of people are counted together.
      if (expected !== 'valid' && !VERDICTS_OF_LEDGER.includes(expected)) continue
      assert.equal(ownerOf.get(network) ?? name, name, network)
      ownerOf.set(network, name)
    }
})

test('a broken sequence is noticed', () => {
  const click = { afterMs: 1, headers: { accept: '*/*' }, address: '10.0.0.1', expected: 'valid' as const }
  const broken: ClickSequence[] = [
    { name: 'a', serve: {}, clicks: [] },
    { name: 'b', serve: { ageMs: -1 }, clicks: [click] },
    { name: 'c', serve: {}, clicks: [{ ...click, serve: 1 }] },
    { name: 'd', serve: {}, clicks: [{ ...click, expected: 'odd' as ClickVerdict }] },
    { name: 'e', serve: {}, clicks: [{ ...click, headers: { Accept: '*/*' } }] },
    { name: 'f', serve: {}, clicks: [{ ...click, headers: { accept: '“' } }] },
    { name: 'g', serve: { aged: 1 } as object, clicks: [click] },
  ]
  for (const sequence of broken) assert.equal(problemsOf(sequence).length, 1, sequence.name)
  assert.deepEqual(problemsOf({ name: 'h', serve: {}, serves: 2, clicks: [{ ...click, serve: 1 }] }), [])
})

const PEOPLE: ClickFacts[] = CLICK_SEQUENCES.flatMap((sequence) =>
  factsOf(sequence, BEGINNING).filter((_, n) => sequence.clicks[n]?.expected === 'valid'),
)
const aPerson = fc.constantFrom(...PEOPLE)

test('a header of loading ahead makes any person’s click a prefetch', () => {
  const purpose = fc.constantFrom<[string, string]>(
    ['sec-purpose', 'prefetch'],
    ['sec-purpose', 'prefetch;prerender'],
    ['purpose', 'prefetch'],
    ['purpose', 'preview'],
    ['x-purpose', 'preview'],
    ['x-moz', 'prefetch'],
  )
  fc.assert(
    fc.property(aPerson, purpose, (facts, [name, value]) => {
      assert.equal(judgeClick({ ...facts, headers: { ...facts.headers, [name]: value } }), 'prefetch')
    }),
  )
})

test('what speaks against a person’s click decides in the order of the table, whatever else does too', () => {
  const against: [ClickVerdict, (facts: ClickFacts) => ClickFacts][] = [
    ['test', (facts) => ({ ...facts, state: 'test' })],
    ['not_delivered', (facts) => (facts.state === 'test' ? facts : { ...facts, state: 'aborted' })],
    ['head', (facts) => ({ ...facts, method: 'HEAD' })],
    ['prefetch', (facts) => ({ ...facts, headers: { ...facts.headers, 'sec-purpose': 'prefetch' } })],
    ['agent', (facts) => ({ ...facts, headers: { ...facts.headers, 'signature-agent': '"https://a.example"' } })],
    ['not_a_browser', (facts) => ({ ...facts, headers: { ...facts.headers, accept: '', 'accept-language': '' } })],
    ['data_centre', (facts) => ({ ...facts, isDataCentre: true })],
    ['same_network', (facts) => ({ ...facts, isCallersNetwork: true })],
    ['too_fast', (facts) => ({ ...facts, shownAt: facts.at })],
  ]
  fc.assert(
    fc.property(aPerson, fc.subarray(against, { minLength: 1 }), (person, chosen) => {
      const facts = chosen.reduce((before, [, change]) => change(before), person)
      assert.equal(judgeClick(facts), chosen[0]?.[0])
    }),
  )
})

test('whatever a click’s headers are, it has one of the verdicts', () => {
  const value = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 1_200 }),
    fc.array(fc.string(), { maxLength: 3 }),
    fc.constant(undefined),
  )
  const names = ['user-agent', 'accept', 'accept-language', 'sec-purpose', 'sec-fetch-dest', 'signature-input']
  const headers = fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), value)
  const odd = fc.record({
    method: fc.string(),
    headers,
    isDataCentre: fc.boolean(),
    isCallersNetwork: fc.boolean(),
    state: fc.constantFrom<ClickFacts['state']>('delivered', 'aborted', 'test'),
    shownAt: fc.date({ noInvalidDate: false }),
    at: fc.date({ noInvalidDate: false }),
  })
  fc.assert(fc.property(odd, (facts) => assert.ok(CLICK_VERDICTS.includes(judgeClick(facts)))))
})

test('judging takes microseconds, also with user agents that were never seen', () => {
  const microsecondsOf = (count: number, factsAt: (n: number) => ClickFacts): number => {
    const before = process.cpuUsage()
    for (let n = 0; n < count; n++) judgeClick(factsAt(n))
    const { user, system } = process.cpuUsage(before)
    return (user + system) / count
  }
  const known = microsecondsOf(100_000, (n) => PEOPLE[n % PEOPLE.length]!)
  // Under 2 alone on a machine; others may be using it as well.
  assert.ok(known < 20, `${known} µs`)
  const unseen = microsecondsOf(5_000, (n) => {
    const person = PEOPLE[n % PEOPLE.length]!
    return { ...person, headers: { ...person.headers, 'user-agent': `${String(person.headers['user-agent'])} A/${n}` } }
  })
  assert.ok(unseen < 200, `${unseen} µs for one that was never seen`)
})

test('the list of clicks can be filtered by every verdict, named as everywhere else, and by every state', () => {
  const labels = Object.entries(VERDICT_LABELS).map(([verdict, { label }]) => [verdict, label])
  assert.deepEqual(Object.entries(VERDICTS), labels)
  assert.deepEqual(Object.keys(STATES).toSorted(), CLICK_STATES.toSorted())
})
