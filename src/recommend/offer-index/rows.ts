import assert from 'node:assert/strict'
import type { Table } from 'apache-arrow'
import type { OfferFacts } from '../../rules/recommendations/eligibility.ts'
import { VECTOR_DIMENSIONS } from '../../rules/recommendations/vectors.ts'
import type { Engine } from './engine.ts'

/** An offer as it is in the index. */
export interface IndexedOffer extends OfferFacts {
  /** The text that is searched and was embedded. */
  text: string
  vector: Int8Array
  headline: string
  benefit: string
  price: { amount: string; currency: string } | undefined
}

/** The part that a search needs, which is all but the text. */
export type StoredOffer = Omit<IndexedOffer, 'text'>

/**
 * The columns. `packed` holds everything that a match needs of an offer, because the engine reads 500 scattered rows of
 * one wide column in half the time of six narrow ones. `vector` is there for the engine's own index alone, which takes
 * no int8; halves hold them exactly.
 */
export function schemaOf({ arrow }: Engine) {
  return new arrow.Schema([
    new arrow.Field('id', new arrow.Utf8(), false),
    new arrow.Field('campaign', new arrow.Utf8(), false),
    new arrow.Field('text', new arrow.Utf8(), false),
    new arrow.Field('vector', halvesOf(arrow), false),
    new arrow.Field('packed', new arrow.Binary(), false),
  ])
}

function halvesOf(arrow: Engine['arrow']) {
  return new arrow.FixedSizeList(VECTOR_DIMENSIONS, new arrow.Field('item', new arrow.Float16(), true))
}

export function tableOf(engine: Engine, offers: readonly IndexedOffer[]): Table {
  const { arrow } = engine
  const schema = schemaOf(engine)
  const text = (values: string[]) => arrow.vectorFromArray(values, new arrow.Utf8()).data[0] ?? assert.fail('no data')
  const halves = new Float16Array(offers.length * VECTOR_DIMENSIONS)
  offers.forEach(({ vector }, n) => halves.set(vector.subarray(0, VECTOR_DIMENSIONS), n * VECTOR_DIMENSIONS))
  const vectors = arrow.makeData({
    type: halvesOf(arrow),
    length: offers.length,
    nullCount: 0,
    child: arrow.makeData({
      type: new arrow.Float16(),
      length: halves.length,
      nullCount: 0,
      // Arrow takes halves as their bits.
      data: new Uint16Array(halves.buffer),
    }),
  })
  const packed = arrow.vectorFromArray(offers.map(pack), new arrow.Binary()).data[0] ?? assert.fail('no data')
  const children = [
    text(offers.map(({ id }) => id)),
    text(offers.map(({ campaignId }) => campaignId)),
    text(offers.map((offer) => offer.text)),
    vectors,
    packed,
  ]
  const data = arrow.makeData({ type: new arrow.Struct(schema.fields), length: offers.length, nullCount: 0, children })
  return new arrow.Table([new arrow.RecordBatch(schema, data)])
}

/** The vector, then the rest as JSON. */
function pack({ vector, text: _searched, ...rest }: IndexedOffer): Uint8Array {
  return Buffer.concat([
    new Uint8Array(vector.buffer, vector.byteOffset, vector.length),
    Buffer.from(JSON.stringify(rest)),
  ])
}

export function unpack(packed: Uint8Array): StoredOffer {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length)
  const vector = new Int8Array(packed.buffer, packed.byteOffset, VECTOR_DIMENSIONS)
  const rest = JSON.parse(bytes.toString('utf8', VECTOR_DIMENSIONS)) as Omit<StoredOffer, 'vector'>
  return { ...rest, price: rest.price, vector }
}
