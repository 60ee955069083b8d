import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROVIDER_KINDS } from '../src/providers/create-provider.ts'
import { ADAPTERS, nameOf } from './faults/adapters.ts'
import { columnsOf, planOf, unexpectedFaults } from './faults/cells.ts'
import { reportOf } from './faults/report.ts'
import { verdictOf } from './faults/verdict.ts'

const good = { cell: 'anthropic U1 JSON/1', complaints: [], seen: '502 refused' }
const bad = { cell: 'anthropic U6 SSE/2', complaints: ['the charge is 9, not 0', 'the status is 500'], seen: '500' }
const PLANNED = [good.cell, bad.cell]

test('a matrix in which every planned cell kept its promise succeeds', () => {
  assert.deepEqual(verdictOf(PLANNED, [good, { ...bad, complaints: [] }], []), { passed: 2, failed: 0, problems: [] })
})

test('a broken promise fails the matrix and is told in full', () => {
  const verdict = verdictOf(PLANNED, [good, bad], [])
  assert.deepEqual([verdict.passed, verdict.failed], [1, 1])
  assert.deepEqual(verdict.problems, ['anthropic U6 SSE/2\nthe charge is 9, not 0\nthe status is 500'])
})

test('a cell that was planned and not tried fails the matrix', () => {
  const verdict = verdictOf(PLANNED, [good], [])
  assert.deepEqual([verdict.passed, verdict.failed], [1, 1])
  assert.match(verdict.problems[0] ?? '', /U6 SSE\/2\nwas not tried/)
})

test('every wire format is in the matrix', () => {
  const kinds = ADAPTERS.map(({ kind }) => kind)
  assert.deepEqual(kinds.toSorted(), PROVIDER_KINDS.toSorted())
})

test('a matrix without cells is no success', () => {
  assert.equal(verdictOf([], [], []).failed, 1)
  assert.equal(verdictOf([good.cell], [{ ...good, complaints: ['crashed'] }], []).passed, 0)
})

test('a promise of the whole run counts like a cell', () => {
  const verdict = verdictOf([good.cell], [good], ['3 is still held'])
  assert.deepEqual([verdict.passed, verdict.failed], [1, 1])
})

test('cells that share a name, are tried twice or were never planned fail the matrix: one could pass for the other', () => {
  assert.equal(verdictOf([good.cell, good.cell], [good], []).failed, 1)
  assert.equal(verdictOf([good.cell], [good, good], []).passed, 0)
  assert.equal(verdictOf([good.cell], [good, bad], []).failed, 1)
})

test('the plan is every adapter by every fault by every column, and what is left out has a reason', () => {
  const { cells, absent } = planOf({})
  const adapters = new Map(cells.map((cell) => [nameOf(cell.adapter), cell.adapter]))
  const chats = ['anthropic', 'bedrock', 'gemini', 'openai-compatible', 'vertex']
  const others = ['gemini-embeddings', 'openai-embeddings', 'openai-embeddings-float']
  assert.deepEqual([...adapters.keys()].toSorted(), [...chats, ...others].toSorted())
  const columns = [...adapters.values()].reduce((sum, adapter) => sum + columnsOf(adapter).length, 0)
  const faults = new Set([...cells, ...absent].map(({ fault }) => fault))
  assert.equal(cells.length + absent.length, faults.size * columns)
  for (const { reason } of absent) assert.ok(reason.length > 10, reason)
  assert.ok(absent.length > 0 && absent.length * 8 < cells.length, 'few are left out')
  assert.equal(new Set(cells.map((cell) => cell.id)).size, cells.length)
  assert.deepEqual(unexpectedFaults(), [])
})

test('people can ask for one adapter and one fault with its variants', () => {
  const { cells } = planOf({ adapter: 'anthropic', fault: 'U1' })
  assert.deepEqual([...new Set(cells.map((cell) => `${cell.adapter.kind} ${cell.fault}`))], ['anthropic U1'])
  const variants = new Set(planOf({ fault: 'U14' }).cells.map((cell) => cell.fault))
  assert.ok(variants.has('U14-eof') && variants.has('U14-eof@0') && !variants.has('U15'))
  assert.deepEqual(planOf({ adapter: 'nobody' }).cells, [])
})

test('the report shows each cell, why others are empty, each failure, and ends in the line that machines read', () => {
  const plan = planOf({ adapter: 'bedrock', fault: 'U7' })
  const [first, second, ...rest] = plan.cells.map((cell) => ({
    cell: cell.id,
    complaints: [] as string[],
    seen: '200',
  }))
  assert.ok(first && second)
  second.complaints.push('the text is wrong')
  const results = [first, second, ...rest.slice(1)]
  const verdict = verdictOf(
    plan.cells.map((cell) => cell.id),
    results,
    [],
  )
  const report = reportOf(plan, results, verdict)
  assert.match(report, /^U7-badjson +ok 200 +FAIL 200 +NOT TRIED +ok 200/m)
  assert.match(report, /^U7-bom(?: +-){4}$/m)
  assert.match(report, /^- U7-bom, .*: its streams are frames of bytes/m)
  assert.match(report, /^FAILED bedrock U7-badjson JSON\/2\n {4}the text is wrong$/m)
  assert.match(report, /\nfaults: \d+ passed, 2 failed$/)
})
