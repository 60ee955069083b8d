import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_FIGURES } from './figures.ts'
import { withMargin } from './margins.ts'
import { parseCredits } from '../money.ts'
import { changesOf, planImport, type KnownModel, type KnownDeployment, type Offer } from './price-import.ts'

const COST = {
  input: parseCredits('1'),
  cachedInput: parseCredits('0.5'),
  cacheWrite: parseCredits('1'),
  output: parseCredits('4'),
  reasoning: parseCredits('4'),
}
const OFFER: Offer = {
  id: 'm',
  kind: 'chat',
  ownedBy: 'them',
  contextWindow: 1_000,
  maxOutputTokens: undefined,
  figures: NO_FIGURES,
  provider: 'p',
  providerId: 'p-id',
  upstreamModel: 'm-1',
  cost: COST,
  unsupportedFields: [],
}
const DEPLOYMENT: KnownDeployment = {
  id: 'r',
  providerId: 'p-id',
  upstreamModel: 'm-1',
  position: 0,
  enabled: true,
  cost: COST,
}
const KNOWN: KnownModel = {
  id: 'm',
  kind: 'chat',
  ownedBy: 'them',
  contextWindow: 1_000,
  maxOutputTokens: null,
  figures: NO_FIGURES,
  marginBps: 0,
  price: COST,
  deployments: [DEPLOYMENT],
}
const PLAIN = { marginBps: undefined, allowed: new Set<string>() }

function plan(offers: Offer[], known: KnownModel[], options = {}) {
  return planImport(offers, new Map(known.map((model) => [model.id, model])), { ...PLAIN, ...options })
}

test('a new model comes with its price, its margin and a deployment', () => {
  const [change] = plan([OFFER], [], { marginBps: 2_500 }).changes
  assert.partialDeepStrictEqual(change, { id: 'm', isNew: true, position: 0, deployments: [OFFER], costs: [] })
  assert.deepEqual(change?.price, { from: undefined, to: withMargin(COST, 2_500) })
  assert.deepEqual(change?.facts, {
    kind: 'chat',
    ownedBy: 'them',
    contextWindow: 1_000,
    maxOutputTokens: null,
    figures: NO_FIGURES,
    marginBps: 2_500,
  })
})

test('what is there already is no change', () => {
  assert.deepEqual(plan([OFFER], [KNOWN]), { changes: [], unchanged: 1, refused: [], warnings: [] })
})

test('a model keeps its own margin unless another is asked for', () => {
  const sold = { ...KNOWN, marginBps: 1_000, price: withMargin(COST, 1_000) }
  assert.equal(plan([OFFER], [sold]).unchanged, 1)
  const [change] = plan([OFFER], [sold], { marginBps: 2_000 }).changes
  assert.deepEqual(change?.price, { from: withMargin(COST, 1_000), to: withMargin(COST, 2_000) })
  assert.equal(change?.facts.marginBps, 2_000)
})

test('an existing deployment is told what it costs, and one that was taken away stays away', () => {
  const dearer = { ...COST, output: parseCredits('5') }
  const [change] = plan([{ ...OFFER, cost: dearer }], [KNOWN]).changes
  assert.deepEqual(change?.costs, [{ deploymentId: 'r', provider: 'p', to: dearer }])
  assert.deepEqual(change?.deployments, [])
  const [away] = plan(
    [{ ...OFFER, cost: dearer }],
    [{ ...KNOWN, deployments: [{ ...DEPLOYMENT, enabled: false }] }],
  ).changes
  assert.deepEqual([away?.deployments, away?.costs], [[], []])
})

test('a new deployment comes behind those that are there', () => {
  const other = { ...DEPLOYMENT, providerId: 'other', position: 3 }
  const [change] = plan([OFFER], [{ ...KNOWN, deployments: [other] }]).changes
  assert.deepEqual([change?.deployments.length, change?.position], [1, 4])
})

test('a model at several providers costs what the dearest asks, class by class', () => {
  const other = { ...OFFER, provider: 'q', providerId: 'q-id', cost: { ...COST, input: parseCredits('2') } }
  const [change] = plan([OFFER, other], []).changes
  assert.deepEqual(change?.price?.to, { ...COST, input: parseCredits('2') })
  assert.equal(change?.deployments.length, 2)
})

test('a price that looks like a mistake is refused by name, unless it is allowed', () => {
  const slipped = { ...OFFER, cost: { ...COST, input: parseCredits('11') } }
  assert.deepEqual(plan([slipped], [KNOWN]).refused, [{ id: 'm', why: ['input is more than ten times what it was'] }])
  assert.deepEqual(plan([slipped], [KNOWN], { allowed: new Set(['m']) }).refused, [])
})

test('a deployment that the file does not know and that costs more than the new price is a warning', () => {
  const other = {
    ...DEPLOYMENT,
    id: 'o',
    providerId: 'other',
    upstreamModel: 'dear',
    cost: { ...COST, output: 5n + COST.output },
  }
  const { warnings } = plan([OFFER], [{ ...KNOWN, deployments: [DEPLOYMENT, other] }])
  assert.deepEqual(warnings, ['m would be sold below what its route to dear costs: output'])
  assert.deepEqual(plan([OFFER], [{ ...KNOWN, deployments: [DEPLOYMENT, { ...other, enabled: false }] }]).warnings, [])
})

test('changes are told in percent', () => {
  const to = { ...COST, input: parseCredits('1.2'), output: parseCredits('3') }
  assert.deepEqual(changesOf({ from: COST, to }), [
    { name: 'input', tenths: 200n },
    { name: 'output', tenths: -250n },
  ])
  assert.deepEqual(changesOf({ from: { ...COST, input: 0n }, to: COST }), [{ name: 'input', tenths: undefined }])
})

test('figures of a model come with the file, and those that it does not state stay as they are', () => {
  const figures = { ...NO_FIGURES, image: 1_568, reasoning: 0 }
  const [fresh] = plan([{ ...OFFER, figures }], []).changes
  assert.deepEqual(fresh?.facts.figures, figures)
  const known = { ...KNOWN, figures: { ...NO_FIGURES, image: 85, file: 9_000 } }
  const [changed] = plan([{ ...OFFER, figures }], [known]).changes
  assert.deepEqual(changed?.facts.figures, { ...figures, file: 9_000 })
  assert.equal(changed.hasNewFacts, true)
  const again = { ...KNOWN, figures: { ...figures, file: 9_000 } }
  assert.deepEqual(plan([{ ...OFFER, figures }], [again]).changes, [], 'a second time there is nothing to change')
})
