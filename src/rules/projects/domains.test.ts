import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainStanding } from './domain-labels.ts'
import {
  domainNameOf,
  domainOfAddress,
  domainStateOf,
  lapsesAtOf,
  proofRecordOf,
  standingAfter,
  twinOf,
  type DomainStanding,
  type Findings,
} from './domains.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../durations.ts'

const START_MS = Date.UTC(2026, 0, 1)

const NO_FILE = { outcome: 'absent', reason: 'status', status: 404 } as const
const MISSING: Findings = { dns: { outcome: 'absent', values: [], misplacedAt: null }, file: NO_FILE }
const PROVEN: Findings = {
  dns: { outcome: 'match', values: ['x'], misplacedAt: null },
  file: { outcome: 'not_needed', reason: null, status: null },
}
const UNANSWERED: Findings = { dns: { outcome: 'unanswered', values: [], misplacedAt: null }, file: NO_FILE }

const PENDING: DomainStanding = {
  provenBy: null,
  verifiedAt: null,
  failingSince: null,
  lapsedAt: null,
  pendingSince: new Date(START_MS),
  nextCheckAt: new Date(START_MS + MINUTE_MS),
  misses: 0,
}
const VERIFIED: DomainStanding = { ...PENDING, provenBy: 'dns', verifiedAt: new Date(START_MS) }

const facts = (nowMs: number, isAsked = false) => ({ nowMs, random: 0.5, isAsked })

test('a name is kept as the DNS knows it, and what nobody can own is no domain', () => {
  assert.equal(domainNameOf(' HTTPS://Www.Example.COM./ '), 'www.example.com')
  assert.equal(domainNameOf('küche.example'), 'xn--kche-0ra.example')
  const wrong = ['localhost', 'example', 'co.uk', '127.0.0.1', '0x7f.1', '2130706433', '[::1]', 'a b.com', 'x.com/path']
  const inside = ['router.local', 'db.internal', 'nas.lan', 'x.localhost', 'box.home.arpa', 'y.onion']
  for (const text of [...wrong, ...inside, 'me@x.com', 'x.com:8443', '-x.com', '_x.com', ''])
    assert.equal(domainNameOf(text), undefined, text)
})

test('of an address that was pasted the domain is taken, by the same rules as a name', () => {
  for (const [pasted, domain] of [
    ['https://site.example.org/path/to?x=1#top', 'site.example.org'],
    ['site.example.org/path', 'site.example.org'],
    [' HTTP://Example.COM:8443/ ', 'example.com'],
    ['https://küche.example/rezepte', 'xn--kche-0ra.example'],
    ['example.com?utm=1', 'example.com'],
    ['example.com', 'example.com'],
  ] as const)
    assert.equal(domainOfAddress(pasted), domain, pasted)
  const wrong = ['https://127.0.0.1/x', 'http://[::1]:80/', 'https://co.uk/news', 'https://localhost:3000/', 'me@x.com']
  for (const text of [...wrong, 'https://me:pw@x.com/', 'https:///x', '/path', '', `x.com/${'a'.repeat(2_000)}`])
    assert.equal(domainOfAddress(text), undefined, text)
})

test('a name that is longer than DNS has any is not read: that would take time that grows with its square', () => {
  const characters = Array.from({ length: 8_000 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join('')
  const beganMs = performance.now()
  assert.equal(domainNameOf(`${characters}.example`), undefined)
  assert.ok(performance.now() - beganMs < 100)
})

test('the record has a label of its own, and the part that DNS forms ask for is told apart', () => {
  assert.deepEqual(proofRecordOf('www.example.co.uk', 'abc'), {
    name: '_parley-verify.www.example.co.uk',
    host: '_parley-verify.www',
    zone: 'example.co.uk',
    value: 'parley-verify=abc',
  })
  assert.equal(proofRecordOf('example.com', 'abc').host, '_parley-verify')
  assert.deepEqual(
    [twinOf('example.com'), twinOf('www.example.com'), twinOf('news.example.com')],
    ['www.example.com', 'example.com', undefined],
  )
})

test('a new domain is looked at often, then hourly, and no longer than seven days', () => {
  let standing = PENDING
  const waits: number[] = []
  while (standing.nextCheckAt) {
    const nowMs = standing.nextCheckAt.getTime()
    standing = standingAfter(standing, MISSING, facts(nowMs))
    if (standing.nextCheckAt) waits.push((standing.nextCheckAt.getTime() - nowMs) / MINUTE_MS)
  }
  assert.deepEqual(waits.slice(0, 6), [2, 5, 15, 30, 60, 60])
  assert.ok(waits.length > 7 * 24 - 3 && waits.length < 7 * 24 + 8, String(waits.length))
  assert.equal(domainStateOf(standing), 'pending')
  assert.match(explainStanding(standing), /stopped/)
})

test('who asks for a check of a pending domain is looked after closely again', () => {
  const late = START_MS + 8 * DAY_MS
  const standing = standingAfter({ ...PENDING, nextCheckAt: null, misses: 99 }, MISSING, facts(late, true))
  assert.equal(standing.nextCheckAt?.getTime(), late + MINUTE_MS)
  assert.equal(standingAfter(standing, MISSING, facts(late + MINUTE_MS)).nextCheckAt?.getTime(), late + 3 * MINUTE_MS)
})

test('a proof verifies at once, from whatever state, and is looked for daily', () => {
  const failing = { ...VERIFIED, failingSince: new Date(START_MS) }
  const lapsed = { ...PENDING, lapsedAt: new Date(START_MS) }
  for (const before of [PENDING, failing, lapsed]) {
    const standing = standingAfter({ ...before, misses: 5 }, PROVEN, facts(START_MS + HOUR_MS))
    assert.equal(domainStateOf(standing), 'verified')
    assert.deepEqual([standing.misses, standing.provenBy], [0, 'dns'])
    assert.equal(standing.nextCheckAt?.getTime(), START_MS + HOUR_MS + DAY_MS)
  }
})

test('one miss changes nothing yet; a second one is failing, which still works', () => {
  const once = standingAfter(VERIFIED, MISSING, facts(START_MS + DAY_MS))
  assert.equal(domainStateOf(once), 'verified')
  assert.ok(Number(once.nextCheckAt) < START_MS + DAY_MS + HOUR_MS)
  const twice = standingAfter(once, MISSING, facts(START_MS + 2 * DAY_MS))
  assert.equal(domainStateOf(twice), 'failing')
  assert.deepEqual(twice.verifiedAt, VERIFIED.verifiedAt)
  assert.equal(twice.nextCheckAt?.getTime(), START_MS + 2 * DAY_MS + HOUR_MS)
  assert.equal(lapsesAtOf(twice)?.getTime(), START_MS + 9 * DAY_MS)
  assert.match(explainStanding(twice), /until 10 January 2026/)
})

test('a proof that is missing for seven days lapses, and not a moment earlier', () => {
  const failing = { ...VERIFIED, failingSince: new Date(START_MS), misses: 9 }
  const before = standingAfter(failing, MISSING, facts(START_MS + 7 * DAY_MS - 1))
  assert.equal(domainStateOf(before), 'failing')
  const after = standingAfter(failing, MISSING, facts(START_MS + 7 * DAY_MS))
  assert.equal(domainStateOf(after), 'lapsed')
  assert.equal(after.verifiedAt, null)
  assert.equal(after.nextCheckAt?.getTime(), START_MS + 7 * DAY_MS + HOUR_MS)
})

test('name servers that do not answer take no proof away, however long', () => {
  const failing = { ...VERIFIED, failingSince: new Date(START_MS), misses: 9 }
  assert.equal(domainStateOf(standingAfter(failing, UNANSWERED, facts(START_MS + 60 * DAY_MS))), 'failing')
  const website: Findings = { ...MISSING, file: { outcome: 'unanswered', reason: null, status: null } }
  const byFile = { ...failing, provenBy: 'file' as const }
  assert.equal(domainStateOf(standingAfter(byFile, website, facts(START_MS + 60 * DAY_MS))), 'failing')
  assert.equal(domainStateOf(standingAfter(failing, website, facts(START_MS + 60 * DAY_MS))), 'lapsed')
})

test('the word of an operator is not taken back by a check', () => {
  const vouched = { ...VERIFIED, provenBy: 'operator' as const, nextCheckAt: null }
  for (const findings of [MISSING, PROVEN, UNANSWERED])
    assert.deepEqual(standingAfter(vouched, findings, facts(START_MS + DAY_MS, true)), vouched)
})

test('checks are spread by a tenth to either side', () => {
  const at = (random: number) =>
    Number(standingAfter(PENDING, PROVEN, { nowMs: START_MS, random, isAsked: false }).nextCheckAt) - START_MS
  assert.deepEqual([Math.round(at(0)), Math.round(at(1))], [21.6 * HOUR_MS, 26.4 * HOUR_MS])
})
