import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FIRST_UUID, isUuid, isUuidv7, LAST_UUID, timeOfUuid, uuidv7 } from './uuid.ts'

test('a uuid has the version and variant of a uuid 7', () => {
  for (let i = 0; i < 1_000; i++) {
    assert.match(uuidv7(), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  }
})

test('its first 48 bits are the time in milliseconds', () => {
  for (const ms of [0, 1, Date.parse('2025-06-01T12:00:00.123Z'), 2 ** 48 - 1]) {
    const id = uuidv7(ms)
    assert.equal(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16), ms)
  }
  const before = Date.now()
  const id = uuidv7()
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
  assert.ok(ms >= before && ms <= Date.now())
})

test('uuids of a later millisecond sort behind those of an earlier one', () => {
  const startMs = Date.now()
  const ids = Array.from({ length: 1_000 }, (_, i) => uuidv7(startMs + i))
  assert.deepEqual(ids.toSorted(), ids)
})

test('uuids of one millisecond differ, also when the pool of random bytes is filled anew', () => {
  const ids = Array.from({ length: 20_000 }, () => uuidv7(1_750_000_000_000))
  assert.equal(new Set(ids).size, ids.length)
})

test('each of the 74 random bits is as often 1 as 0', () => {
  const runs = 4_000
  const ones = Array.from({ length: 128 }, () => 0)
  for (let i = 0; i < runs; i++) {
    const bits = BigInt(`0x${uuidv7(0).replaceAll('-', '')}`)
    for (let bit = 0; bit < 128; bit++) ones[bit] = (ones[bit] ?? 0) + Number((bits >> BigInt(127 - bit)) & 1n)
  }
  // Seven standard deviations: by chance once in a billion runs of this test.
  const isEven = (count: number) => Math.abs(count - runs / 2) < 7 * Math.sqrt(runs / 4)
  const random = ones.filter(isEven).length
  assert.equal(random, 74)
})

test('a uuid is known by its form, in small letters: capitals would sort elsewhere', () => {
  for (const id of [uuidv7(), FIRST_UUID, LAST_UUID]) assert.ok(isUuid(id))
  const id = uuidv7()
  const wrong = [
    '',
    id.slice(1),
    `${id}0`,
    `${id}\n`,
    ` ${id}`,
    id.replaceAll('-', ''),
    id.replace('-', '_'),
    `g${id.slice(1)}`,
  ]
  for (const text of [...wrong, LAST_UUID.toUpperCase()]) assert.ok(!isUuid(text), text)
})

test('when a uuid of version 7 was made can be read from it, and from no other', () => {
  for (const ms of [0, 1, Date.parse('2025-06-01T12:00:00.123Z')]) {
    const id = uuidv7(ms)
    assert.ok(isUuidv7(id))
    assert.equal(timeOfUuid(id).getTime(), ms)
  }
  for (const id of [FIRST_UUID, LAST_UUID, uuidv7().replace(/^(.{14})7/, '$14')]) assert.ok(!isUuidv7(id))
})
