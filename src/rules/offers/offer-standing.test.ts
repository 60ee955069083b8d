import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainOffer, OFFER_STANDINGS } from './offer-standing.ts'

test('each standing is explained in whole sentences, with the reason if somebody gave one', () => {
  for (const standing of OFFER_STANDINGS)
    for (const reviewReason of [null, 'it makes a promise: "guaranteed"', 'We do not advertise this.'])
      assert.match(
        explainOffer({ standing, availability: 'preorder', reviewReason }),
        /^[A-Z][^.]*\..*[^.]\.$|^[A-Z][^.]*[^.]\.$/,
      )
  const rejected = { standing: 'rejected', availability: 'in_stock' } as const
  assert.equal(
    explainOffer({ ...rejected, reviewReason: 'We do not advertise this.' }),
    'The operator rejected it: We do not advertise this. Changed words are looked at again.',
  )
  assert.match(explainOffer({ ...rejected, reviewReason: null }), /gave no reason/)
  const out = { standing: 'out_of_stock', reviewReason: null } as const
  assert.match(explainOffer({ ...out, availability: 'preorder' }), /for pre-order/)
})
