import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingFields, type ProviderFields, type RouteFields } from './unsupported-fields.ts'

const ROUTE: RouteFields = {
  id: 'r',
  modelId: 'm',
  provider: 'p',
  providerId: 'p-id',
  upstreamModel: 'm-1',
  enabled: true,
  unsupportedFields: [],
}
const KNOWN: ProviderFields = { ofSettings: [], ofPreset: [], ofModels: new Map() }

function missing(route: Partial<RouteFields>, known: Partial<ProviderFields>): string[][] {
  const additions = missingFields([{ ...ROUTE, ...route }], new Map([['p-id', { ...KNOWN, ...known }]]))
  return additions.map(({ fields }) => fields)
}

const OF_MODEL = { ofModels: new Map([['m-1', ['logprobs', 'verbosity']]]) }

test('a route lacks what the file says of its model and the preset of its provider, each once', () => {
  assert.deepEqual(missing({}, { ...OF_MODEL, ofPreset: ['verbosity', 'seed'] }), [['logprobs', 'verbosity', 'seed']])
  assert.deepEqual(missing({}, KNOWN), [])
})

test('it does not lack what it or the settings of its provider list already, and nothing else of it is touched', () => {
  assert.deepEqual(missing({ unsupportedFields: ['verbosity', 'tools'] }, OF_MODEL), [['logprobs']])
  assert.deepEqual(missing({}, { ...OF_MODEL, ofSettings: ['logprobs'] }), [['verbosity']])
  assert.deepEqual(missing({ unsupportedFields: ['verbosity'] }, { ...OF_MODEL, ofSettings: ['logprobs'] }), [])
})

test('another model, another provider and a route that is not in use lack nothing', () => {
  assert.deepEqual(missing({ upstreamModel: 'm-2' }, OF_MODEL), [])
  assert.deepEqual(missing({ providerId: 'other' }, OF_MODEL), [])
  assert.deepEqual(missing({ enabled: false }, OF_MODEL), [])
})

test('what was added is not missing any more', () => {
  const known = { ...OF_MODEL, ofPreset: ['seed'] }
  const [fields = []] = missing({ unsupportedFields: ['tools'] }, known)
  assert.deepEqual(missing({ unsupportedFields: ['tools', ...fields] }, known), [])
})
