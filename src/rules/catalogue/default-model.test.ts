import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultModelOf, type PricedModel } from './default-model.ts'

function model(id: string, input: bigint, output: bigint, kind: PricedModel['kind'] = 'chat'): PricedModel {
  return { id, input, output, kind }
}

test('a chat begins with the cheapest model that chats, whatever comes first in the alphabet', () => {
  const models = [
    model('atlas-guide', 150n, 600n),
    model('embed-tiny', 1n, 0n, 'embedding'),
    model('great-large', 2_500n, 10_000n),
    model('pocket-small', 100n, 400n),
    // Cheap to read, dear to write.
    model('scribe', 90n, 4_000n),
  ]
  assert.equal(defaultModelOf(models)?.id, 'pocket-small')
  assert.equal(defaultModelOf([]), undefined)
  assert.equal(defaultModelOf([model('embed-tiny', 1n, 0n, 'embedding')]), undefined)
})

test('of two that cost the same it is the one with the name of a small one, and else the first in the alphabet', () => {
  const same = (...ids: string[]) => defaultModelOf(ids.map((id) => model(id, 150n, 600n)))?.id
  assert.equal(same('parley-guide', 'parley-small'), 'parley-small')
  assert.equal(same('gpt-4o', 'gpt-4o-mini'), 'gpt-4o-mini')
  assert.equal(same('beta', 'alpha'), 'alpha')
  assert.equal(same('geminist', 'alpha'), 'alpha', 'a part of a word is no word')
})
